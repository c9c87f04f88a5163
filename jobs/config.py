"""Settings of a run: composed of what each room declares, read from one TOML file.

No setting is read anywhere else, secrets excepted: those come from the environment only.
"""

import difflib
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn, Self
from urllib.parse import unquote, urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from chunking.protocols import Chunker
from chunking.strategies import make_chunker, needs_of
from storage.completion_settings import CompletionSettings
from storage.embedding_settings import EmbeddingSettings
from storage.milvus_settings import MilvusSettings
from storage.protocols import SearchMode
from storage.reranker import RerankSettings
from storage.s3_objects import S3Settings

DEFAULT_PATH = Path("kitelift.toml")


class ConfigError(Exception):
    """The configuration, or a command line, cannot be used; says which key and what to do."""


class SourceSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    uri: str = Field(default="parsed", min_length=1)
    """Parsed documents as Parquet: `s3://bucket/prefix` or a local folder."""


class StateSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    uri: str = Field(default="kitelift-state", min_length=1)
    """Ledger, staged vectors and dead letters: `s3://bucket/prefix` or a local folder."""


class ChunkingSettings(BaseModel):
    """Every further key is an option of the strategy; the strategy checks it."""

    model_config = ConfigDict(extra="allow", frozen=True, use_attribute_docstrings=True)

    strategy: str = "structure"
    """One of docs/strategies.md."""

    def open(self, models: Mapping[str, Callable[..., Any]] | None = None) -> Chunker:
        """Make the chunker.

        Of `models` it needs what `needs_of` says, when it cuts: no model need be there to check
        the options and to tell the settings.

        Raises:
            ValueError: An unknown strategy or option.
        """
        options = self.model_extra or {}
        needs = needs_of(self.strategy)
        for need in needs:
            if need in options:
                raise ValueError(f"{need!r} is no setting; {_MODEL_IN[need]} names the model.")
        given = {need: (models or {}).get(need, _no_model) for need in needs}
        return make_chunker(self.strategy, **options, **given)


_MODEL_IN = {"embed": "[embedding]", "complete": "[completion]"}


def _no_model(*_: object) -> NoReturn:
    raise ConfigError("this strategy needs a model, and none was opened for it.")


class RunSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    executor: Literal["ray", "inline"] = "ray"
    """`ray` joins the cluster that RAY_ADDRESS names, or starts one on this machine; `inline`
    walks in this process, one shard after another."""
    workers: int = Field(default=0, ge=0)
    """Shards at work at once; 0: one for each CPU of the cluster."""
    shard_bytes: int = Field(default=2 * 2**20, ge=1)
    """A shard ends with the row group that reaches so many decoded bytes,"""
    shard_documents: int = Field(default=1000, ge=1)
    """or so many documents."""
    window_bytes: int = Field(default=2**20, ge=1)
    """Characters of document text that a worker holds at a time."""
    embed_texts: int = Field(default=256, ge=1)
    """Texts given to the model between two stagings: what a kill can cost, per worker."""
    max_attempts: int = Field(default=3, ge=1)
    """Of one shard, when a store does not answer or a worker dies."""
    lease_seconds: float = Field(default=30.0, ge=1)
    """Without a heartbeat for so long, a run counts as dead and another may take over. It must be
    longer than the longest call, and the same for all who write the collection."""
    promote: bool = True
    """Move the alias when a new collection is complete and verified; else `kitelift promote`."""
    notify_url: str = ""
    """Webhook that is sent each run's outcome as JSON (docs/report.md); an address that is a secret
    goes into KITELIFT_NOTIFY_URL instead."""
    log: Literal["lines", "json"] = "lines"
    """How a run tells of itself where nobody sits at a terminal: sentences, or a JSON object a
    line with run, shard and stage times."""

    @field_validator("notify_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        url = urlsplit(value)
        if value and (url.scheme not in {"http", "https"} or not url.hostname):
            raise ValueError("it is no http(s) address; write it as `https://host/path`.")
        if url.username or url.password:
            raise ValueError("it carries credentials; put it into KITELIFT_NOTIFY_URL instead.")
        return value


class GoldenSettings(BaseModel):
    """Queries whose answers are compared before the alias moves to another collection."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    queries: str = ""
    """JSON Lines, a `{"query": "…"}` each: s3://bucket/key or a file. Empty: nothing is compared,
    nor is it by runs that do not move the alias."""
    top_k: int = Field(default=10, ge=1, le=100)
    """Documents of each answer that are compared."""
    mode: SearchMode = "dense"
    """As of `kitelift search`; sparse and hybrid need Milvus 2.5 or Lite."""
    min_overlap: float = Field(default=0.0, ge=0, le=1)
    """Mean overlap@k, 0 to 1, below which the alias stays where it is and the run ends partial,
    with the new collection kept for `kitelift promote`. 0: it is only reported."""

    @model_validator(mode="after")
    def _has_queries(self) -> Self:
        if self.min_overlap and not self.queries:
            raise ValueError("min_overlap is set without queries; name their file, or leave it 0.")
        return self


class LimitSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    max_delete_ratio: float = Field(default=0.2, ge=0, le=1)
    """A run that would delete a larger part of the documents stops; --allow-delete overrides."""
    max_tokens: int = Field(default=0, ge=0)
    """Tokens that one run may embed; then it ends partial, and the next goes on. 0 is no limit."""
    max_cost: float = Field(default=0.0, ge=0)
    """As max_tokens, for what embedder and chat model cost by their cost_per_million_tokens."""
    deadline_seconds: float = Field(default=0.0, ge=0)
    """How long one run may take before it ends partial. 0 is no limit."""


class Config(BaseModel):
    """All of it; hashable, and sent to workers as JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: SourceSettings = SourceSettings()
    state: StateSettings = StateSettings()
    s3: S3Settings = S3Settings()
    chunking: ChunkingSettings = ChunkingSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    completion: CompletionSettings = CompletionSettings()
    milvus: MilvusSettings = MilvusSettings()
    rerank: RerankSettings = RerankSettings()
    run: RunSettings = RunSettings()
    golden: GoldenSettings = GoldenSettings()
    limits: LimitSettings = LimitSettings()

    @model_validator(mode="after")
    def _keeps_the_ledger_out_of_the_source(self) -> Self:
        source, state = (_steps(uri) for uri in (self.source.uri, self.state.uri))
        if state[: len(source)] == source:
            raise ValueError(
                f"[state].uri = {self.state.uri!r} lies in [source].uri = {self.source.uri!r}, "
                "where its Parquet files would be taken for documents; put it beside it."
            )
        return self


def _steps(uri: str) -> tuple[str, ...]:
    """A URI as the folders that lead to it."""
    if "://" in uri and not uri.startswith("file:"):
        return tuple(uri.rstrip("/").split("/"))
    return Path(unquote(uri.removeprefix("file://"))).expanduser().absolute().parts


def local_settings(config: Config) -> list[str]:
    """Settings that name a place which other machines cannot reach."""
    places = {
        "source.uri": config.source.uri,
        "state.uri": config.state.uri,
        "milvus.uri": config.milvus.uri,
    }
    return [name for name, uri in places.items() if "://" not in uri or uri.startswith("file:")]


def load_config(path: Path | None) -> Config:
    """Read a TOML file; None reads `kitelift.toml` where there is one, else takes the defaults.

    Raises:
        ConfigError: No such file, no TOML, an unknown key (with the likely one), a bad value.
    """
    if path is None:
        if not DEFAULT_PATH.exists():
            return Config()
        path = DEFAULT_PATH
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: no such file. `kitelift config > {path}` writes one with every key."
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    return parse_config(values, str(path))


def parse_config(values: dict[str, Any], origin: str) -> Config:
    """Check the values of a configuration, chunking options included."""
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{origin}: {_told(error)}") from None
    try:
        config.chunking.open()
    except ValueError as error:
        raise ConfigError(f"{origin}: [chunking] {error}") from None
    except TypeError as error:
        raise ConfigError(
            f"{origin}: [chunking] has a value of the wrong kind ({error}); `kitelift config` "
            "shows the defaults."
        ) from None
    check_chat_model(config, f"{origin}: ")
    return config


def check_chat_model(config: Config, origin: str = "") -> bool:
    """Whether the strategy asks a chat model. Raises ConfigError when none is named for it."""
    strategy = config.chunking.strategy
    if "complete" not in needs_of(strategy):
        return False
    if not config.completion.model:
        raise ConfigError(
            f"{origin}[completion].model is empty, and the strategy {strategy!r} asks a chat "
            "model; name one, and the base_url of its endpoint."
        )
    return True


def _told(error: ValidationError) -> str:
    """The first fault, as a person would say it."""
    fault = error.errors(include_url=False)[0]
    place = [str(step) for step in fault["loc"]]
    reason = str(fault["msg"]).removeprefix("Value error, ")
    if not place:  # of several sections together
        return reason
    name = f"[{place[0]}].{'.'.join(place[1:])}" if len(place) > 1 else f"[{place[0]}]"
    if fault["type"] == "extra_forbidden":
        known = _known_keys(place[:-1])
        close = difflib.get_close_matches(place[-1], known, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}."
        return f"unknown key {name}; {hint}"
    return f"{name} = {fault['input']!r}: {reason}" if len(place) > 1 else f"{name}: {reason}"


def _known_keys(place: list[str]) -> list[str]:
    if not place:
        return list(Config.model_fields)
    section = Config.model_fields[place[0]].annotation
    assert section is not None
    fields: dict[str, Any] = section.model_fields
    return [str(field.serialization_alias or name) for name, field in fields.items()]

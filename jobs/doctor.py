"""Checks each part that a run needs, one by one, and says what to do about what fails."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from jobs.chunkers import open_chat_model
from jobs.config import Config, check_chat_model
from jobs.plan import is_parquet
from storage.embeddings import open_embedder, probe
from storage.errors import StorageError
from storage.lease import current_holder
from storage.ledger import Ledger
from storage.milvus_lite import reachable
from storage.objects import open_location, probe_conditional_writes
from storage.vectors import connect

OBJECTS_LOOKED_AT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    part: str
    ok: bool
    told: str


def examine(config: Config) -> Iterator[Finding]:
    """Each part in turn; a part that fails does not hide the others."""
    parts: dict[str, Callable[[Config], str]] = {
        "source": _source,
        "state": _state,
        "embedding": _embedding,
        **({"completion": _completion} if check_chat_model(config) else {}),
        "milvus": _milvus,
        "executor": _executor,
    }
    for part, look in parts.items():
        try:
            yield Finding(part=part, ok=True, told=look(config))
        except StorageError as error:
            yield Finding(part=part, ok=False, told=str(error))


def _source(config: Config) -> str:
    location = open_location(config.source.uri, config.s3)
    keys = [i.key for i in islice(location.objects.list(location.prefix), OBJECTS_LOOKED_AT)]
    parquet = sum(map(is_parquet, keys))
    more = " or more" if len(keys) == OBJECTS_LOOKED_AT else ""
    hint = "" if parquet else "; `kitelift convert FOLDER --to URI` makes some"
    return f"{config.source.uri} answers: {parquet}{more} Parquet objects{hint}"


def _state(config: Config) -> str:
    location = open_location(config.state.uri, config.s3)
    probe_conditional_writes(location)
    holder = current_holder(location.objects, Ledger(location, config.milvus.collection).lease_key)
    return (
        f"{config.state.uri} keeps conditional writes; "
        f"the lease is {f'held by {holder}' if holder else 'free'}"
    )


def _embedding(config: Config) -> str:
    probed = probe(open_embedder(config.embedding))
    return f"{probed.name} answers the canary text with {probed.dim} dimensions"


def _completion(config: Config) -> str:
    chat_model = open_chat_model(config)
    assert chat_model is not None
    chat_model.check()
    return f"{config.completion.model} answers a plain prompt"


def _milvus(config: Config) -> str:
    alias = config.milvus.collection
    with reachable(config.milvus) as milvus:
        database = connect(milvus)
        try:
            target = database.alias_target(alias)
            spec = database.describe(target) if target else None
            rows = database.open(target).count() if target else 0
            stands = (
                f"alias {alias} points to {target}: {rows} rows of {spec.model}, {spec.dim} "
                "dimensions"
                if target and spec
                else f"alias {alias} does not exist yet; the first run makes it"
            )
            lacks = (
                "" if database.has_sparse else "; no BM25 here (it needs 2.5): dense search only"
            )
            return f"Milvus {database.version} at {config.milvus.uri} answers; {stands}{lacks}"
        finally:
            database.close()


def _executor(config: Config) -> str:
    if config.run.executor == "inline":
        return "inline: shards are walked in this process, one after another"
    from jobs.driver import cluster_told  # noqa: PLC0415 - Ray takes a second to import

    return cluster_told()

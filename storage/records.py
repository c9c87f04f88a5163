"""The ledger's nouns: what is written down of a run, its shards and its documents."""

from dataclasses import dataclass, field
from typing import Literal, TypeVar

N = TypeVar("N", int, float)

RunState = Literal[
    "planned",
    "running",
    "sweeping",
    "verifying",
    "promoting",
    "succeeded",
    "partial",
    "failed",
    "aborted",
    "superseded",
]
ENDED: frozenset[str] = frozenset({"succeeded", "partial", "failed", "aborted", "superseded"})

DocumentFate = Literal["stored", "unchanged", "empty", "dead", "duplicate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A document (or, with an empty id, an object) that could not go in."""

    document_id: str
    object_key: str
    stage: str
    """read, parse, chunk, embed, upsert, duplicate, or worker for one that killed its worker."""
    reason: str
    row: int = -1
    """Place within the object; -1 for the object as a whole."""
    attempts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord:
    """How one row of an object ended; a shard's records are its part of the catalogue."""

    document_id: str
    row: int
    fate: DocumentFate
    document_hash: str
    chunk_ids: tuple[str, ...] = ()
    payload_hashes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A Parquet file of DocumentRecords, written when a shard was committed."""

    key: str
    """In the state store."""
    first_row: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fates:
    """How many documents ended in which way. `deleted` are not among those read."""

    stored: int = 0
    unchanged: int = 0
    empty: int = 0
    dead: int = 0
    duplicate: int = 0
    deleted: int = 0

    @property
    def read(self) -> int:
        """Documents of the source; a further row of the same document is no document."""
        return self.stored + self.unchanged + self.empty + self.dead

    def __add__(self, other: "Fates") -> "Fates":
        return Fates(
            stored=self.stored + other.stored,
            unchanged=self.unchanged + other.unchanged,
            empty=self.empty + other.empty,
            dead=self.dead + other.dead,
            duplicate=self.duplicate + other.duplicate,
            deleted=self.deleted + other.deleted,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What the work of a shard, or of a run, amounted to. Adds up."""

    fates: Fates = Fates()
    chunks: int = 0
    """Rows that the collection holds for these documents, unchanged ones included."""
    upserted: int = 0
    deleted: int = 0
    texts: int = 0
    """Embedded, each paid once."""
    tokens: int = 0
    """Of the embedded texts of chunks, as the service counted them."""
    reused: int = 0
    """Chunks whose vector was there already."""
    reused_tokens: int = 0
    """Of those chunks, as the chunker counted them: what was not paid."""
    requests: int = 0
    """To the embedding model, for sentences too, second attempts included."""
    retries: int = 0
    """How many of the requests were a further attempt."""
    slow_downs: int = 0
    """How often the service asked for less (429)."""
    sentences: int = 0
    """Embedded to find out where to cut."""
    sentence_tokens: int = 0
    """Of those, as the service counted them; no part of `tokens`."""
    sentences_reused: int = 0
    """Whose vector was kept from before."""
    completion_requests: int = 0
    """To the chat model that proposes cuts, second attempts included."""
    completion_tokens: int = 0
    """Of prompts and answers, as the service counted them."""
    completions_reused: int = 0
    """Answers that were kept from before."""
    seconds: dict[str, float] = field(default_factory=dict)
    """By stage: read, sentences, chunk, look up, embed, stage, upsert, delete, record."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Chunks by kind and lower edge of a 32-token bin: `table 64`."""
    warnings: dict[str, int] = field(default_factory=dict)
    """What parsers left out or mended, by kind."""

    @property
    def embedded_tokens(self) -> int:
        """All that the embedding model was paid for."""
        return self.tokens + self.sentence_tokens

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            fates=self.fates + other.fates,
            chunks=self.chunks + other.chunks,
            upserted=self.upserted + other.upserted,
            deleted=self.deleted + other.deleted,
            texts=self.texts + other.texts,
            tokens=self.tokens + other.tokens,
            reused=self.reused + other.reused,
            reused_tokens=self.reused_tokens + other.reused_tokens,
            requests=self.requests + other.requests,
            retries=self.retries + other.retries,
            slow_downs=self.slow_downs + other.slow_downs,
            sentences=self.sentences + other.sentences,
            sentence_tokens=self.sentence_tokens + other.sentence_tokens,
            sentences_reused=self.sentences_reused + other.sentences_reused,
            completion_requests=self.completion_requests + other.completion_requests,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            completions_reused=self.completions_reused + other.completions_reused,
            seconds=_added(self.seconds, other.seconds),
            sizes=_added(self.sizes, other.sizes),
            warnings=_added(self.warnings, other.warnings),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """What is known of one source object: enough to skip it, or to see what it changed."""

    key: str
    etag: str
    clean: bool
    """All of its documents went in: an object with the same etag need not be read again."""
    parts: tuple[Part, ...] = ()
    residue: tuple[str, ...] = ()
    """Folders of shards that began and never committed: their intents name the documents that
    may have rows which no part records, and their staged vectors are paid for."""
    fates: Fates = Fates()
    chunks: int = 0
    """Rows that the collection holds for these documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What a collection holds, as of the run that wrote this last."""

    fingerprint: str
    run_id: str = ""
    entries: tuple[CatalogueEntry, ...] = ()
    """In ascending order of key; its length is that of the source's listing."""
    canary: tuple[float, ...] = ()
    """The vector of the canary text when the collection was begun."""
    embedding: str = ""
    """The `[embedding]` settings of that run as JSON, so that the model can be asked when the
    configuration names another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """The row that a document is taken from, in an object that this run does not walk."""

    document_id: str
    object_key: str
    etag: str
    size: int
    row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPlan:
    """The unit of work, retry and record: consecutive row groups of one object."""

    number: int
    object_key: str
    etag: str
    size: int
    first_group: int
    group_count: int
    first_row: int
    rows: int
    losers: tuple[int, ...] = ()
    """Rows whose document is taken from elsewhere (see jobs/settle.py)."""
    contested: tuple[str, ...] = ()
    """Ids that come in several rows: the hash of each is reported, so that they can be compared."""
    rivals: tuple[Rival, ...] = ()
    """Of those ids: where they are taken from, if no shard of this run reads it."""
    known: tuple[Part, ...] = ()
    """Earlier records of this object: a document with an equal hash is unchanged."""
    residue: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPlan:
    """One listed object and what the run will do about it."""

    key: str
    etag: str
    shards: int
    """0: skipped as unchanged, or unreadable (then there is a fault)."""
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """Immutable once written: what this run looks at, and on what footing."""

    run_id: str
    fingerprint: str
    collection: str
    prefix: str
    """Of source keys; nothing outside it is read or deleted."""
    objects: tuple[ObjectPlan, ...]
    shards: tuple[ShardPlan, ...]
    skipped: Tally
    """Documents and chunks of the objects that are skipped whole."""
    vanished_key: str
    """Parquet of the ids that this run deletes; empty when there are none."""
    vanished: int
    known_documents: int
    """What `max_delete_ratio` is a part of."""
    gone_objects: tuple[str, ...] = ()
    """Keys of the catalogue that the source does not list any more."""
    parent_run: str = ""
    """For a rerun: the run whose failures it looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestedRow:
    """One of several rows of the same document."""

    document_id: str
    object_key: str
    row: int
    document_hash: str
    won: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardResult:
    """Written last: the shard is committed, or its object could not be read."""

    number: int
    object_key: str
    etag: str
    attempt: int
    part: Part | None
    """None when the object failed as a whole."""
    tally: Tally
    seconds: float
    started_at: str = ""
    """UTC, ISO 8601; empty when no attempt came back."""
    dead: tuple[DeadLetter, ...] = ()
    contested: tuple[ContestedRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """One move of the alias."""

    collection: str
    before: str
    """Where it pointed until then; empty when it was new."""
    at: str
    """UTC, ISO 8601."""
    rollback: bool = False
    """A person moved it back: no run moves it forward again to `before`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """The run as `kitelift runs` and `status` show it."""

    run_id: str
    state: RunState
    fingerprint: str
    collection: str
    alias: str
    holder: str
    started_at: str
    """UTC, ISO 8601; like updated_at."""
    updated_at: str
    command: str = "run"
    shards_total: int = 0
    shards_done: int = 0
    progress: Tally = Tally()
    reason: str = ""
    """Why it failed, was aborted or refused."""


def _added(a: dict[str, N], b: dict[str, N]) -> dict[str, N]:
    total = dict(a)
    for key, value in b.items():
        total[key] = total[key] + value if key in total else value
    return total

"""The doors to the outside, as the job sees them. Implementations translate, and decide nothing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from chunking.model import Chunk

Vectors = NDArray[np.float32]
"""Shape (n, dim), float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectInfo:
    key: str
    """Letter for letter as stored: never decoded, encoded or normalised."""
    etag: str
    """Changes whenever the bytes do."""
    size: int
    """In bytes."""


class ObjectStore(Protocol):
    """Bytes under keys: a bucket or a folder. Reads after writes are consistent."""

    @property
    def place(self) -> str:
        """How a person names it: `s3://bucket` or the folder's path."""

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Every object whose key starts with `prefix`, in ascending order of the key's bytes."""

    def head(self, key: str) -> ObjectInfo:
        """Raises ObjectMissingError when there is none, as do get() and open()."""

    def get(self, key: str) -> tuple[bytes, str]:
        """The bytes and their etag."""

    def open(self, info: ObjectInfo) -> BinaryIO:
        """A seekable reader of exactly that version; fetches ranges as they are read.

        Raises:
            ObjectChangedError: At any read, once the object's etag is another.
        """

    def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_etag: str | None = None
    ) -> str:
        """Write whole and atomically; return the new etag.

        Args:
            key: Where.
            data: What.
            if_absent: Only if no such object exists.
            if_etag: Only if the object's etag is still this.

        Raises:
            ConditionFailedError: The condition did not hold; nothing was written.
        """

    def delete(self, key: str) -> None:
        """Remove it; no fault if it is gone already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A part of an object store: what a URI in the configuration names."""

    objects: ObjectStore
    prefix: str = ""
    """Empty, or ends in "/"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The answer to one call of `Embedder.embed` with n texts."""

    vectors: Vectors
    """Shape (n, dim), rows of Euclidean length 1 in the order of the texts; zeros where there is
    none (`refused`, `failed`)."""
    refused: Mapping[int, str] = field(default_factory=dict)
    """Place of each text that the model refused, with its reason. Its row must not be stored."""
    failed: Mapping[int, str] = field(default_factory=dict)
    """Place of each text that got no answer in any attempt, while others did. Sending it again
    later may work; its row must not be stored now."""
    tokens: int = 0
    """As the service counted them, or our estimate for a local model."""
    requests: int = 0
    """Further attempts included."""
    retries: int = 0
    """How many of the requests were a further attempt."""
    slow_downs: int = 0
    """How many were answered by asking for less (429)."""


class Embedder(Protocol):
    """A model behind one method. Open it once per worker; it is the costly thing here."""

    @property
    def name(self) -> str:
        """Provider, model and revision: vectors of equal names can be mixed."""

    @property
    def dim(self) -> int:
        """Length of each vector."""

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed n texts, none of them blank, in as many requests as the limits ask for.

        Raises:
            ValueError: A text is blank; nothing was sent.
            StorageError: No text got an answer (credentials, quota, unavailable after the
                configured attempts). Once any did, what was paid for is returned, and the texts
                left over are in `failed`; a text that the service will not have is in `refused`.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionTally:
    """What a completer has done since it was opened."""

    requests: int = 0
    """Sent, repeated attempts included."""
    tokens: int = 0
    """Of prompts and answers, as the service counted them."""
    reused: int = 0
    """Answers that were kept from before, and cost nothing."""
    refused: int = 0
    """Prompts that the service would not answer."""
    unasked: int = 0
    """Prompts without a kept answer that a dry completer sent nowhere."""
    unasked_tokens: int = 0
    """Of those prompts, as cl100k_base counts them."""

    def since(self, earlier: "CompletionTally") -> "CompletionTally":
        """What was done after an earlier tally of the same completer."""
        return CompletionTally(
            requests=self.requests - earlier.requests,
            tokens=self.tokens - earlier.tokens,
            reused=self.reused - earlier.reused,
            refused=self.refused - earlier.refused,
            unasked=self.unasked - earlier.unasked,
            unasked_tokens=self.unasked_tokens - earlier.unasked_tokens,
        )


class ChatModel(Protocol):
    """A chat model whose answers are kept: `chunking.protocols.Complete`, and what it cost."""

    @property
    def tally(self) -> CompletionTally: ...

    @property
    def concurrent_requests(self) -> int:
        """How many may be in flight at once."""

    def __call__(self, system: str, user: str) -> str:
        """The answer to a system and a user message, kept or new; "" where there is none.

        Raises:
            StorageError: The service does not answer, or refuses every prompt.
        """

    def check(self) -> None:
        """Find out whether it answers at all. Raises StorageError if it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowKey:
    """What identifies one stored row, without its text and vectors."""

    chunk_id: str
    document_id: str
    content_hash: str
    payload_hash: str
    run_id: str = field(default="", compare=False)
    """The run that wrote it: provenance, and no part of what the row is."""


SearchMode = Literal["dense", "sparse", "hybrid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One row that a search found."""

    score: float
    """Higher is better: cosine, BM25, or the reciprocal-rank sum of a hybrid search."""
    row: Mapping[str, Any]
    """The fields of SPEC section 3, without vectors."""


Check = Callable[[], None]
"""Called before each request that writes, repetitions included; what it raises ends the call."""


def unchecked() -> None:
    """For who cannot be overtaken."""


class VectorStore(Protocol):
    """One collection: rows under chunk ids. Writing an id twice leaves one row: the later."""

    @property
    def collection(self) -> str: ...

    def upsert(
        self,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        *,
        run_id: str,
        object_key: str,
        check: Check = unchecked,
    ) -> None:
        """Write one row per chunk, in requests of bounded bytes.

        Args:
            chunks: n chunks, no id twice.
            vectors: Shape (n, dim), finite, not zero. Row i is for chunks[i].
            run_id: Provenance, like object_key.
            object_key: The object that the rows come from.
            check: Whether we may still write.

        Raises:
            ValueError: An id comes twice, or a vector is not usable. Nothing was written.
            RowRefusedError: A field is over its limit in bytes. Nothing was written.
            CollectionMismatchError: dim or schema is not that of the collection.
            StoreUnavailableError, SlowDownError: A part may be written; upsert the same again.
        """

    def delete(self, chunk_ids: Sequence[str], *, check: Check = unchecked) -> None:
        """Remove rows by id; unknown ids are no fault. `check` as in upsert."""

    def keys_of(self, document_ids: Sequence[str]) -> list[RowKey]:
        """The key of every row of these documents, sorted by chunk id; strongly consistent."""

    def keys_at(self, chunk_ids: Sequence[str]) -> list[RowKey]:
        """The keys of those rows that exist, sorted by chunk id; strongly consistent."""

    def rows_at(self, chunk_ids: Sequence[str]) -> list[Mapping[str, Any]]:
        """Those rows that exist, sorted by chunk id, without vectors; strongly consistent."""

    def vectors_of(self, content_hashes: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """For each hash that some row has: that row's dense vector, shape (dim,)."""

    def count(self) -> int:
        """Rows, strongly consistent; never what deleted rows still occupy."""

    def scan(self, id_prefix: str = "") -> Iterator[RowKey]:
        """The key of every row whose id starts so, in bounded memory and in no order.

        Strongly consistent at the start.
        """

    def search(
        self,
        *,
        text: str,
        vector: NDArray[np.float32] | None,
        mode: SearchMode,
        top_k: int,
        filter_expression: str = "",
    ) -> list[Hit]:
        """The best rows, best first. `vector` may be None for sparse search.

        Raises:
            SettingError: This server has no sparse search, or cannot parse the expression.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionSpec:
    """What a collection is made with, and what it says of itself afterwards."""

    dim: int
    fingerprint: str
    """Of every setting that shaped its rows."""
    model: str
    """`Embedder.name`: another collection of the same model can lend its vectors."""


class VectorDatabase(Protocol):
    """The server: its collections and the aliases that readers use."""

    @property
    def version(self) -> str: ...

    @property
    def has_sparse(self) -> bool:
        """Whether the server can do BM25 search (Milvus 2.5 or later, Milvus Lite)."""

    def describe(self, collection: str) -> CollectionSpec | None:
        """None if there is no such collection.

        Raises:
            CollectionMismatchError: It exists and was not made by this project, or its fields
                are not those of the schema.
        """

    def create(self, collection: str, spec: CollectionSpec) -> None:
        """Make it with schema and indexes, and load it; no fault if an equal one exists."""

    def open(self, collection: str) -> VectorStore:
        """Load it if need be."""

    def collections(self) -> list[str]:
        """Names of all collections, sorted."""

    def drop(self, collection: str) -> None:
        """Refuses (SettingError) while an alias points to it."""

    def alias_target(self, alias: str) -> str | None:
        """The collection behind an alias; None if there is no such alias."""

    def point_alias(self, alias: str, collection: str) -> None:
        """Create the alias or move it, in one step for readers."""

    def close(self) -> None: ...

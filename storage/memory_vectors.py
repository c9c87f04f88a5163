"""Collections in this process: for dry runs and tests, and as strict as the strictest server.

It refuses what any real server refuses (a key twice, a NaN, a byte too many, another dimension),
sorts and escapes nothing by luck, and lends no array that a caller could change.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chunking.model import Chunk
from storage.errors import CollectionMismatchError, SettingError
from storage.memory_filters import matches, parse
from storage.protocols import (
    Check,
    CollectionSpec,
    Hit,
    RowKey,
    SearchMode,
    Vectors,
    unchecked,
)
from storage.rows import Row, key_of, rows_of


class MemoryVectorDatabase:
    """Collections and aliases, gone with the process."""

    def __init__(self) -> None:
        self.faults: list[Exception] = []
        """Raised one by one, by the next calls of the database and its stores: for tests."""
        self._specs: dict[str, CollectionSpec] = {}
        self._rows: dict[str, dict[str, Row]] = {}
        self._aliases: dict[str, str] = {}

    @property
    def version(self) -> str:
        return "in this process"

    @property
    def has_sparse(self) -> bool:
        return False

    def describe(self, collection: str) -> CollectionSpec | None:
        self.fail_if_asked()
        return self._specs.get(self._aliases.get(collection, collection))

    def create(self, collection: str, spec: CollectionSpec) -> None:
        self.fail_if_asked()
        if collection in self._aliases:
            raise SettingError("milvus.collection", f"{collection} is an alias", "Rename it.")
        existing = self._specs.setdefault(collection, spec)
        if existing != spec:
            raise CollectionMismatchError(
                collection, f"it was made with {existing}, not {spec}", "Build a new one."
            )
        self._rows.setdefault(collection, {})

    def open(self, collection: str) -> "MemoryVectorStore":
        self.fail_if_asked()
        name = self._aliases.get(collection, collection)
        if name not in self._specs:
            raise CollectionMismatchError(collection, "there is no such collection", "Make it.")
        return MemoryVectorStore(self, collection, self._specs[name].dim)

    def collections(self) -> list[str]:
        self.fail_if_asked()
        return sorted(self._specs)

    def drop(self, collection: str) -> None:
        self.fail_if_asked()
        if collection in self._aliases.values():
            raise SettingError(f"collection {collection}", "an alias points to it", "Move it.")
        self._specs.pop(collection, None)
        self._rows.pop(collection, None)

    def alias_target(self, alias: str) -> str | None:
        self.fail_if_asked()
        return self._aliases.get(alias)

    def point_alias(self, alias: str, collection: str) -> None:
        self.fail_if_asked()
        if alias in self._specs:
            raise SettingError("milvus.collection", f"{alias} is a collection", "Rename it.")
        if collection not in self._specs:
            raise CollectionMismatchError(collection, "there is no such collection", "Make it.")
        self._aliases[alias] = collection

    def close(self) -> None: ...

    def fail_if_asked(self) -> None:
        if self.faults:
            raise self.faults.pop(0)

    def rows_behind(self, collection: str) -> dict[str, Row]:
        """The rows of a collection or of an alias' present target, by chunk id."""
        try:
            return self._rows[self._aliases.get(collection, collection)]
        except KeyError:
            raise CollectionMismatchError(collection, "it was dropped", "Make it anew.") from None


class MemoryVectorStore:
    """One collection. Dense search only, exact; the others need a server's analyser."""

    def __init__(self, database: MemoryVectorDatabase, collection: str, dim: int) -> None:
        self._database = database
        self._collection = collection
        self._dim = dim

    @property
    def collection(self) -> str:
        return self._collection

    def upsert(
        self,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        *,
        run_id: str,
        object_key: str,
        check: Check = unchecked,
    ) -> None:
        rows = rows_of(
            chunks,
            vectors,
            dim=self._dim,
            collection=self._collection,
            run_id=run_id,
            object_key=object_key,
        )
        check()
        self._stored().update(
            {row["chunk_id"]: {**row, "dense": row["dense"].copy()} for row in rows}
        )

    def delete(self, chunk_ids: Sequence[str], *, check: Check = unchecked) -> None:
        check()
        stored = self._stored()
        for chunk_id in chunk_ids:
            stored.pop(chunk_id, None)

    def keys_of(self, document_ids: Sequence[str]) -> list[RowKey]:
        wanted = set(document_ids)
        return [key for key in self.scan() if key.document_id in wanted]

    def keys_at(self, chunk_ids: Sequence[str]) -> list[RowKey]:
        wanted = set(chunk_ids)
        return [key for key in self.scan() if key.chunk_id in wanted]

    def rows_at(self, chunk_ids: Sequence[str]) -> list[Mapping[str, Any]]:
        stored = self._stored()
        wanted = sorted(set(chunk_ids) & stored.keys())
        return [_without_vector(stored[chunk_id]) for chunk_id in wanted]

    def vectors_of(self, content_hashes: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        wanted = set(content_hashes)
        return {
            row["content_hash"]: row["dense"].copy()
            for row in self._stored().values()
            if row["content_hash"] in wanted
        }

    def count(self) -> int:
        return len(self._stored())

    def scan(self, id_prefix: str = "") -> Iterator[RowKey]:
        stored = sorted(self._stored().items())
        return iter([key_of(row) for chunk_id, row in stored if chunk_id.startswith(id_prefix)])

    def search(
        self,
        *,
        text: str,  # noqa: ARG002 (of the protocol; BM25 is a server's work)
        vector: NDArray[np.float32] | None,
        mode: SearchMode,
        top_k: int,
        filter_expression: str = "",
    ) -> list[Hit]:
        if mode != "dense":
            raise SettingError(
                f"search mode {mode}", "this process has no BM25", "Use --mode dense."
            )
        if vector is None or vector.shape != (self._dim,):
            raise CollectionMismatchError(
                self._collection,
                f"its vectors have {self._dim} dimensions, that of the query has "
                f"{0 if vector is None else len(vector)}",
                "Embed the query with the model that the collection was built with.",
            )
        condition = parse(filter_expression)
        rows = [row for row in self._stored().values() if matches(condition, row)]
        scored = sorted(((_cosine(row["dense"], vector), row) for row in rows), key=_by_score)
        return [Hit(score=score, row=_without_vector(row)) for score, row in islice(scored, top_k)]

    def _stored(self) -> dict[str, Row]:
        self._database.fail_if_asked()
        return self._database.rows_behind(self._collection)


def _without_vector(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "dense"}


def _cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def _by_score(scored: tuple[float, Row]) -> tuple[float, str]:
    score, row = scored
    return -score, row["chunk_id"]

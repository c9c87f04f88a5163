"""Vectors of the sentences that strategies cut by, kept so that no later attempt or run pays again.

    <prefix><alias>/sentences/<model>/<object>/<run_id>/<shard>-<attempt>-<hash>.parquet

An edited document keeps most of its sentences, and stays in its source object: so what is kept is
looked for in the folder of that object alone. Of each file the hashes are read once per process,
the vectors only when some are wanted. `kitelift gc` drops those of old runs.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storage.parts import stage_vectors, staged_hashes, vectors_at
from storage.protocols import ObjectStore, Vectors

INDEX_BYTES = 32 * 2**20
"""Of hashes that a process remembers: four million sentences."""

_Marks = NDArray[np.uint64]
"""The first 64 bits of content hashes; which vector is meant, the whole hash decides."""


class SentenceStore:
    """What was kept for one alias and model."""

    def __init__(self, objects: ObjectStore, root: str) -> None:
        self._objects = objects
        self._root = root
        self._indexes: OrderedDict[str, _Marks] = OrderedDict()

    def shelf(self, object_key: str, *, run_id: str, shard: int, attempt: int) -> "Shelf":
        """Where the sentences of one source object stand, for one attempt at a shard of it."""
        mark = hashlib.sha256(object_key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        folder = f"{self._root}{mark}/"
        return Shelf(self, folder, f"{folder}{run_id}/{shard:06d}-{attempt:03d}")

    def find(self, folder: str, content_hashes: Collection[str]) -> dict[str, NDArray[np.float32]]:
        """Of these hashes, those that some file below the folder has."""
        found: dict[str, NDArray[np.float32]] = {}
        missing = set(content_hashes)
        for info in self._objects.list(folder):
            if not missing:
                break
            if np.isin(self._index(info.key), _marks(missing)).any():
                found |= vectors_at(self._objects, info.key, missing)
                missing -= found.keys()
        return found

    def keep(self, key: str, content_hashes: Sequence[str], vectors: Vectors) -> None:
        stage_vectors(self._objects, key, content_hashes, vectors)
        self._remember(key, _marks(content_hashes))

    def _index(self, key: str) -> _Marks:
        if key not in self._indexes:
            self._remember(key, _marks(staged_hashes(self._objects, key)))
        self._indexes.move_to_end(key)
        return self._indexes[key]

    def _remember(self, key: str, marks: _Marks) -> None:
        self._indexes[key] = marks
        while len(self._indexes) > 1 and self._held_bytes() > INDEX_BYTES:
            self._indexes.popitem(last=False)

    def _held_bytes(self) -> int:
        return sum(marks.nbytes for marks in self._indexes.values())


@dataclass(frozen=True, slots=True)
class Shelf:
    """A source object's place in the store."""

    _store: SentenceStore
    _folder: str
    _name: str

    def find(self, content_hashes: Collection[str]) -> dict[str, NDArray[np.float32]]:
        """Of these hashes, those that any attempt or run kept, each with its vector."""
        return self._store.find(self._folder, content_hashes)

    def keep(self, content_hashes: Sequence[str], vectors: Vectors) -> None:
        """Write n vectors of shape (n, dim) as one object."""
        self._store.keep(f"{self._name}-{content_hashes[0][:16]}.parquet", content_hashes, vectors)


def _marks(content_hashes: Collection[str]) -> _Marks:
    return np.array([int(each[:16], 16) for each in content_hashes], dtype=np.uint64)

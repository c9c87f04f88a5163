"""Vectors of rows that were deleted, kept until a run has seen all of the source.

A text may leave one document and enter another in a later shard, or in a part of the source that
this run does not walk: by then its row is gone. So whoever deletes rows leaves their vectors here
first, and whoever looks for a vector looks here after the collection: what is in neither was never
paid for. A text that stands in the collection at the time of the look is found there; one that
does not was put here before its row was deleted.
"""

from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from storage.parts import stage_vectors, staged_hashes, vectors_at
from storage.protocols import ObjectStore, VectorStore

TEXTS_A_FILE = 500

Marks = NDArray[np.uint64]
"""The first eight bytes of each hash of a file, sorted."""


class Attic:
    """One worker's look into the attic. Reads the hashes of each file once, 8 bytes a text."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._marks: dict[str, Marks] = {}
        """By key."""

    def find(
        self, folder: str, content_hashes: Collection[str]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Of these hashes, the vectors that were left under `folder`."""
        keys = [info.key for info in self._objects.list(f"{folder}/")]
        self._marks = {key: self._marks_of(key) for key in keys}
        wanted = _marks(content_hashes)
        found: dict[str, NDArray[np.float32]] = {}
        for key, marks in self._marks.items():
            if np.isin(wanted, marks).any():
                found |= vectors_at(self._objects, key, content_hashes)
        return found

    def _marks_of(self, key: str) -> Marks:
        known = self._marks.get(key)
        return _marks(staged_hashes(self._objects, key)) if known is None else known


def leave_vectors(
    objects: ObjectStore, key_prefix: str, store: VectorStore, content_hashes: Iterable[str]
) -> None:
    """Keep the vectors of rows that are about to be deleted.

    Args:
        objects: The state store.
        key_prefix: Of the files to write, below the attic's folder; no other writer has it.
        store: Where the rows still are.
        content_hashes: Of those rows, in any order.
    """
    hashes = sorted(set(content_hashes))
    for start in range(0, len(hashes), TEXTS_A_FILE):
        vectors = store.vectors_of(hashes[start : start + TEXTS_A_FILE])
        if vectors:
            key = f"{key_prefix}-{start:06d}.parquet"
            stage_vectors(objects, key, list(vectors), np.stack(list(vectors.values())))


def clear(objects: ObjectStore, folder: str, *, but: str = "") -> None:
    """Empty the attic, but for what the run `but` left."""
    for info in list(objects.list(f"{folder}/")):
        if not but or not info.key.startswith(f"{folder}/{but}/"):
            objects.delete(info.key)


def _marks(content_hashes: Iterable[str]) -> Marks:
    return np.array(sorted(int(each[:16], 16) for each in content_hashes), dtype=np.uint64)

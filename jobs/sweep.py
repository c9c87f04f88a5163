"""Delete the documents that vanished from the source, by the ids of their rows."""

import time
from collections.abc import Iterator, Sequence
from itertools import islice

from jobs.attic import leave_vectors
from storage.lease import Fence
from storage.parts import read_ids_of
from storage.protocols import Check, ObjectStore, VectorStore
from storage.records import Fates, Tally

DOCUMENTS_A_SWEEP = 200
IDS_A_DELETE = 500


def sweep(
    state: ObjectStore, vanished_key: str, attic: str, store: VectorStore, fence: Fence
) -> Iterator[Tally]:
    """Delete all rows of the documents listed under `vanished_key`; tell of some at a time.

    The collection is asked for their rows, so those of a crashed attempt go too. Where `attic` is
    a folder, their vectors are left there: parts of the source were not walked, and may have the
    same texts in other documents.
    """
    for number, document_ids in enumerate(_slices(read_ids_of(state, vanished_key))):
        begun = time.monotonic()
        rows = store.keys_of(document_ids)
        if attic:
            hashes = (row.content_hash for row in rows)
            leave_vectors(state, f"{attic}/swept-{number:06d}", store, hashes)
        chunk_ids = [row.chunk_id for row in rows]
        delete_rows(store, chunk_ids, lambda: fence.check(state))
        yield Tally(
            fates=Fates(deleted=len(document_ids)),
            deleted=len(chunk_ids),
            seconds={"sweep": time.monotonic() - begun},
        )


def delete_rows(store: VectorStore, chunk_ids: Sequence[str], check: Check) -> None:
    """Delete by id, a bounded number at a time; `check` comes before each write."""
    for start in range(0, len(chunk_ids), IDS_A_DELETE):
        store.delete(chunk_ids[start : start + IDS_A_DELETE], check=check)


def _slices(ids: Iterator[str]) -> Iterator[list[str]]:
    while some := list(islice(ids, DOCUMENTS_A_SWEEP)):
        yield some

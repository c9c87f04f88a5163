"""The hallway: one shard, its doors in order.

    read → chunk → compare → find vectors (reuse, else embed) → upsert → delete stale → record

Safe to repeat after a crash at any line: ids come from content, an upsert overwrites, vectors are
staged before they are used, an intent names rows before they exist, and the result that says
"committed" is written last. No Ray here: the walk runs in a worker, a shell or a test.
"""

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import numpy as np

from jobs.attic import leave_vectors
from jobs.changes import Change, chunk_documents, compare
from jobs.docket import Docket, Note
from jobs.edges import reach
from jobs.rooms import Rooms, ShardTask
from jobs.sweep import delete_rows
from jobs.vectors import Sourced, find_vectors
from jobs.windows import read_windows
from storage.errors import Fate, RowRefusedError, StorageError
from storage.parts import drop_staged, read_intents, write_intent
from storage.records import Part, ShardResult, Tally
from storage.rows import check_row

ROWS_A_WRITE = 500
"""Their vectors are copied into one array. The lease is looked at before each request."""


def ingest_shard(task: ShardTask, rooms: Rooms, note: Note = lambda _: None) -> ShardResult:
    """Carry one shard from the source into the collection.

    Raises:
        StorageError: Of fate RETRY or STOP. What concerns one document, or this object alone,
            is in the result.
    """
    begun, started_at = time.monotonic(), datetime.now(UTC).isoformat(timespec="milliseconds")
    begun_with = read_intents(rooms.ledger.objects, [task.folder]) if task.attempt > 1 else ()
    docket = Docket(task.shard.object_key, note, begun_with)
    task.fence.check(rooms.ledger.objects)
    rooms.ledger.claim(task.folder, task.attempt, task.fence.epoch)
    reach("claimed")
    part: Part | None = None
    try:
        for number, window in enumerate(read_windows(task, rooms, docket)):
            drafts = chunk_documents(window, task, rooms, docket)
            reach("chunked")
            changes = compare(drafts, rooms.store, docket)
            reach("compared")
            sourced = find_vectors(changes, task, rooms, docket)
            changes = _embeddable(changes, sourced, docket)
            changes = _storable(changes, task, docket)
            _write(changes, sourced, number, task, rooms, docket)
            docket.flush()
        part = _record(task, rooms, docket)
    except StorageError as error:
        if error.fate is not Fate.SET_ASIDE:
            raise
        docket.give_up(str(error), task.shard.rows)
    reach("recorded")
    result = ShardResult(
        number=task.shard.number,
        object_key=task.shard.object_key,
        etag=task.shard.etag,
        attempt=task.attempt,
        part=part,
        tally=docket.total,
        seconds=time.monotonic() - begun,
        started_at=started_at,
        dead=tuple(docket.dead),
        contested=tuple(docket.contested),
    )
    task.fence.check(rooms.ledger.objects)
    result = rooms.ledger.commit(task.folder, result)
    reach("committed")
    if part is not None:
        drop_staged(rooms.ledger.objects, task.folder)
    return result


def _embeddable(changes: Iterable[Change], sourced: Sourced, docket: Docket) -> list[Change]:
    """A document goes in whole or not at all: one refused text sets it aside."""
    kept = []
    for change in changes:
        reasons = (sourced.refused.get(chunk.content_hash) for chunk in change.write)
        reason = next(filter(None, reasons), None)
        if reason is None:
            kept.append(change)
        else:
            docket.set_aside(change.arrival, "embed", reason)
    return kept


def _storable(changes: Iterable[Change], task: ShardTask, docket: Docket) -> list[Change]:
    """Checked before the first write, so that no document is refused half-way."""
    kept = []
    for change in changes:
        try:
            for chunk in change.write:
                check_row(chunk, run_id=task.run_id, object_key=task.shard.object_key)
        except RowRefusedError as error:
            docket.set_aside(change.arrival, "upsert", f"{error.field}: {error.reason}")
        else:
            kept.append(change)
    return kept


def _write(
    changes: Sequence[Change],
    sourced: Sourced,
    number: int,
    task: ShardTask,
    rooms: Rooms,
    docket: Docket,
) -> None:
    """Upsert what is new, then delete what is old, by id; the intent goes first."""
    if not changes:
        return
    state, store = rooms.ledger.objects, rooms.store
    task.fence.check(state)
    with docket.stage("record"):
        key = f"{task.folder}/intents/{task.attempt:03d}-{number:06d}.json"
        write_intent(state, key, {c.arrival.document_id: c.all_ids for c in changes})
    reach("intended")
    chunks = [chunk for change in changes for chunk in change.write]
    with docket.stage("upsert"):
        for start in range(0, len(chunks), ROWS_A_WRITE):
            batch = chunks[start : start + ROWS_A_WRITE]
            vectors = np.stack([sourced.vectors[chunk.content_hash] for chunk in batch])
            store.upsert(
                batch,
                vectors,
                run_id=task.run_id,
                object_key=task.shard.object_key,
                check=lambda: task.fence.check(state),
            )
            reach("upserted")
    stale = [chunk_id for change in changes for chunk_id in change.stale]
    staying = {chunk.content_hash for change in changes for chunk in change.chunks}
    leaving = frozenset().union(*(change.leaving for change in changes)) - staying
    with docket.stage("delete"):
        name = f"{task.shard.number:06d}-{task.attempt:03d}-{number:06d}"
        leave_vectors(state, f"{task.attic}/{task.run_id}/{name}", store, leaving)
        delete_rows(store, stale, lambda: task.fence.check(state))
        reach("deleted")
    docket.add(Tally(upserted=len(chunks), deleted=len(stale)))
    for change in changes:
        docket.stored(change.arrival, change.chunks)


def _record(task: ShardTask, rooms: Rooms, docket: Docket) -> Part:
    state = rooms.ledger.objects
    with docket.stage("record"):
        task.fence.check(state)
        key = f"{task.folder}/records-{task.attempt:03d}.parquet"
        return docket.put(state, key, task.shard.first_row)

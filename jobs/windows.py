"""Read a shard in windows of bounded size, and let pass only what is due."""

import json
from collections.abc import Collection, Iterator

from chunking.model import Document
from jobs.docket import Arrival, Docket
from jobs.rivals import contest_rivals, hash_anywhere
from jobs.rooms import Rooms, ShardTask
from storage.documents import document_hash, read_documents
from storage.errors import BadDocumentError
from storage.parts import find_records, read_intents
from storage.protocols import ObjectInfo
from storage.records import DocumentRecord, ShardPlan

DOCUMENTS_A_WINDOW = 500

Rows = list[tuple[int, Document]]
"""Documents with their place in the object."""
Window = list[tuple[Arrival, Document]]


def read_windows(task: ShardTask, rooms: Rooms, docket: Docket) -> Iterator[Window]:
    """The shard's documents that are new or changed, a window at a time.

    What cannot be read, is taken from another row, or equals its record, goes to the docket.
    """
    state = rooms.ledger.objects
    # An attempt that never ended may have written these: their record is not the whole truth.
    unsure = read_intents(state, task.shard.residue).keys()
    for rows in _windows(task, rooms, docket):
        with docket.stage("look up"):
            known: dict[str, DocumentRecord] = {}
            if task.shard.known:
                known = find_records(state, task.shard.known, {d.document_id for _, d in rows})
            window = [(_arrival(row, document, known), document) for row, document in rows]
        yield [
            (arrival, document)
            for arrival, document in window
            if _is_due(arrival, document, task.shard, unsure, docket)
        ]
    contest_rivals(task, rooms, docket)


def _is_due(
    arrival: Arrival,
    document: Document,
    shard: ShardPlan,
    unsure: Collection[str],
    docket: Docket,
) -> bool:
    lost = arrival.row in shard.losers
    if arrival.document_id in shard.contested:
        docket.contest(arrival, hash_anywhere(document, shard.object_key), won=not lost)
    known = arrival.known
    if lost:
        docket.duplicate(arrival)
    elif (
        known is not None
        and known.fate != "dead"
        and known.document_hash == arrival.document_hash
        and arrival.document_id not in unsure
    ):
        docket.same_document(arrival, known)
    else:
        docket.warn(document.warnings)
        return True
    return False


def _windows(task: ShardTask, rooms: Rooms, docket: Docket) -> Iterator[Rows]:
    """Documents in lists of at most `window_bytes`, one document at least."""
    shard = task.shard
    info = ObjectInfo(key=shard.object_key, etag=shard.etag, size=shard.size)
    groups = range(shard.first_group, shard.first_group + shard.group_count)
    documents = read_documents(rooms.source.objects, info, groups)
    window: Rows = []
    held = 0
    while True:
        with docket.stage("read"):
            found = next(documents, None)
        if found is None:
            break
        row, document = found
        if isinstance(document, BadDocumentError):
            unread = Arrival(row=row, document_id=document.document_id, document_hash="")
            docket.set_aside(unread, "read", document.reason)
        elif row in task.poison:
            killer = Arrival(row=row, document_id=document.document_id, document_hash="")
            docket.set_aside(killer, "worker", "the worker process died on it each time")
        else:
            window.append((row, document))
            held += _weight(document)
        full = held >= task.window_bytes or len(window) >= DOCUMENTS_A_WINDOW
        if window and (full or task.careful):
            if task.careful:
                name_suspect(task, rooms, *window[0])
            yield window
            window, held = [], 0
    yield window


def name_suspect(task: ShardTask, rooms: Rooms, row: int, document: Document) -> None:
    """Write down which document comes next: if the worker dies now, it was this one."""
    body = json.dumps({"row": row, "document_id": document.document_id})
    rooms.ledger.objects.put(suspect_key(task), body.encode())


def suspect_key(task: ShardTask) -> str:
    return f"{task.folder}/suspect-{task.attempt}.json"


def _arrival(row: int, document: Document, known: dict[str, DocumentRecord]) -> Arrival:
    return Arrival(
        row=row,
        document_id=document.document_id,
        document_hash=document_hash(document),
        known=known.get(document.document_id),
    )


def _weight(document: Document) -> int:
    """Characters that a document holds, pictures and metadata included: its memory, about."""
    blocks = sum(
        len(block.text) + len(block.image_uri or "") + len(block.caption or "")
        for block in document.blocks or ()
    )
    metadata = sum(len(key) + len(str(value)) for key, value in document.metadata.items())
    return blocks + metadata + len(document.markdown or "") + len(document.text or "")

"""Chunk what is due, and compare it with the rows that stand in the collection."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from chunking.ids import ID_JOINT
from chunking.model import Chunk, Document
from chunking.protocols import Chunked, Chunker, chunk_fully
from chunking.text import is_blank
from jobs.docket import Arrival, Docket
from jobs.rooms import Rooms, ShardTask
from jobs.sentences import VectorChunker
from jobs.windows import Window
from storage.errors import Fate, StorageError
from storage.protocols import CompletionTally, RowKey, VectorStore
from storage.records import Tally
from storage.sentence_vectors import Shelf


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A document, chunked."""

    arrival: Arrival
    chunks: tuple[Chunk, ...]
    """All that become rows: what is searched, then the parents that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a document's rows lack, and which of them are too many."""

    arrival: Arrival
    chunks: tuple[Chunk, ...]
    write: tuple[Chunk, ...]
    """Chunks whose row is missing or differs in its payload."""
    stale: tuple[str, ...]
    """Ids of rows that are none of `chunks`."""
    leaving: frozenset[str]
    """Content hashes of those rows."""
    stood: tuple[str, ...]
    """Ids of all rows that the document had."""

    @property
    def all_ids(self) -> set[str]:
        return {chunk.chunk_id for chunk in self.chunks}.union(self.stood)


def chunk_documents(window: Window, task: ShardTask, rooms: Rooms, docket: Docket) -> list[Draft]:
    """Chunk each document; one that fails goes to the dead letters alone.

    Raises:
        StorageError: Of fate RETRY or STOP, from a model that is asked where to cut.
    """
    drafts: list[Draft] = []
    with docket.stage("chunk"), _counted(rooms, docket):
        for arrival, made in _chunked(window, task, rooms, docket):
            if isinstance(made, str):
                docket.set_aside(arrival, "chunk", made)
                continue
            chunks = (*made.chunks, *made.parents)
            if any(is_blank(chunk.content) for chunk in chunks):  # no model takes it
                docket.set_aside(arrival, "chunk", "the chunker gave a blank chunk")
                continue
            docket.warn(made.warnings)
            drafts.append(Draft(arrival=arrival, chunks=chunks))
    return drafts


def _chunked(
    window: Window, task: ShardTask, rooms: Rooms, docket: Docket
) -> Iterator[tuple[Arrival, Chunked | str]]:
    """What came of each document, in order: chunks, or why there are none."""
    documents = [document for _, document in window]
    if isinstance(rooms.chunker, VectorChunker):
        made = _cut_by_vectors(documents, rooms.chunker, rooms.shelf(task), docket)
    elif rooms.chat_model is not None:
        made = _cut_at_once(documents, rooms.chunker, rooms.chat_model.concurrent_requests)
    else:
        made = (_cut(document, rooms.chunker) for document in documents)
    yield from zip((arrival for arrival, _ in window), made, strict=True)


def _cut_by_vectors(
    documents: Iterable[Document], chunker: VectorChunker, shelf: Shelf, docket: Docket
) -> Iterator[Chunked | str]:
    """Sentences of many documents are embedded in one call."""
    for batch, sentences in chunker.batches(documents):
        with docket.stage("sentences"):
            chunker.vectors.fetch(sentences, shelf)
        yield from (_cut(document, chunker) for document in batch)


def _cut_at_once(
    documents: Iterable[Document], chunker: Chunker, count: int
) -> Iterator[Chunked | str]:
    """As many documents at a time as requests may be in flight."""
    with ThreadPoolExecutor(count) as threads:
        yield from threads.map(partial(_cut, chunker=chunker), documents)


def _cut(document: Document, chunker: Chunker) -> Chunked | str:
    try:
        return chunk_fully(chunker, document)
    except Exception as error:
        if isinstance(error, StorageError) and error.fate is not Fate.SET_ASIDE:
            raise
        return f"{type(error).__name__}: {error}"  # whatever a document does, the rest goes on


@contextmanager
def _counted(rooms: Rooms, docket: Docket) -> Iterator[None]:
    """Enter what finding out where to cut has cost, whatever came of it."""
    chunker, chat_model = rooms.chunker, rooms.chat_model
    asked = chat_model.tally if chat_model else CompletionTally()
    try:
        yield
    finally:
        if isinstance(chunker, VectorChunker):
            docket.add(chunker.vectors.take_work())
        if chat_model:
            work = chat_model.tally.since(asked)
            docket.add(
                Tally(
                    completion_requests=work.requests,
                    completion_tokens=work.tokens,
                    completions_reused=work.reused,
                )
            )


def compare(drafts: Iterable[Draft], store: VectorStore, docket: Docket) -> list[Change]:
    """Ask the collection for each document's rows; what stands there already is done."""
    drafts = _without_collisions(drafts, store, docket)
    with docket.stage("look up"):
        ids = sorted({draft.arrival.document_id for draft in drafts})
        keys = store.keys_of(ids) if ids else []
    rows: dict[str, dict[str, RowKey]] = {}
    for key in keys:
        rows.setdefault(key.document_id, {})[key.chunk_id] = key
    changes = []
    for draft in drafts:
        change = _change(draft, rows.get(draft.arrival.document_id, {}))
        if change.write or change.stale:
            changes.append(change)
        else:
            docket.same_rows(draft.arrival, draft.chunks)
    return changes


def _change(draft: Draft, stood: dict[str, RowKey]) -> Change:
    new = {chunk.chunk_id for chunk in draft.chunks}
    write = tuple(
        chunk
        for chunk in draft.chunks
        if (row := stood.get(chunk.chunk_id)) is None or row.payload_hash != chunk.payload_hash
    )
    stale = tuple(sorted(stood.keys() - new))
    return Change(
        arrival=draft.arrival,
        chunks=draft.chunks,
        write=write,
        stale=stale,
        leaving=frozenset(stood[chunk_id].content_hash for chunk_id in stale),
        stood=tuple(sorted(stood)),
    )


def _without_collisions(drafts: Iterable[Draft], store: VectorStore, docket: Docket) -> list[Draft]:
    """Set aside a document whose chunk would overwrite another document's.

    The id formula joins its parts by ":chunk:", so ids can be made to collide, but only where
    that very text stands in a document's id or content: no other chunk needs a look.
    """
    drafts = list(drafts)
    suspects = [c.chunk_id for draft in drafts for c in draft.chunks if _may_collide(c)]
    stored = store.keys_at(suspects) if suspects else []
    owner = {key.chunk_id: key.document_id for key in stored}
    kept: list[Draft] = []
    for draft in drafts:
        document_id = draft.arrival.document_id
        others = {owner.setdefault(c.chunk_id, document_id) for c in draft.chunks} - {document_id}
        if others:
            reason = f"a chunk id is also one of document {min(others)!r}; rename one of them"
            docket.set_aside(draft.arrival, "chunk", reason)
        else:
            kept.append(draft)
    return kept


def _may_collide(chunk: Chunk) -> bool:
    return ID_JOINT in chunk.document_id or ID_JOINT in chunk.content

"""The docket of a shard: how each of its documents ended, and what the work amounted to."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from chunking.model import Chunk
from storage.parts import RecordWriter
from storage.protocols import ObjectStore
from storage.records import (
    ContestedRow,
    DeadLetter,
    DocumentFate,
    DocumentRecord,
    Fates,
    Part,
    Tally,
)

SIZE_BIN_TOKENS = 32
DEAD_LETTERS_KEPT = 1000
"""Of one shard; more are counted, and stand in its records."""

Note = Callable[[Tally], None]
"""Hears what was done since it was last called, for a live display."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A document as it was read, and what the ledger knows of it."""

    row: int
    document_id: str
    document_hash: str
    known: DocumentRecord | None = None


class Docket:
    """Collects outcomes while a shard walks; every arrival is entered exactly once."""

    def __init__(
        self, object_key: str, note: Note = lambda _: None, begun: Collection[str] = ()
    ) -> None:
        """Start empty.

        Args:
            object_key: What is being walked.
            note: Hears of the work, window by window.
            begun: Documents that an earlier attempt of this run may have written: when their
                rows are found in place, it is this run that stored them.
        """
        self.dead: list[DeadLetter] = []
        self.contested: list[ContestedRow] = []
        self._object_key = object_key
        self._note = note
        self._begun = begun
        self._told = Tally()
        self._since = Tally()
        self._within = 0.0
        """Seconds of stages inside of the one that goes on."""
        self._writer = RecordWriter()
        self._records: list[DocumentRecord] = []

    @property
    def total(self) -> Tally:
        return self._told + self._since

    # How a document ends

    def stored(self, arrival: Arrival, chunks: Sequence[Chunk]) -> None:
        """The collection has these rows now, and no others of this document."""
        self._chunked(arrival, "stored" if chunks else "empty", chunks)

    def same_rows(self, arrival: Arrival, chunks: Sequence[Chunk]) -> None:
        """It was chunked, and the collection had exactly these rows already."""
        fate: DocumentFate = "stored" if arrival.document_id in self._begun else "unchanged"
        self._chunked(arrival, fate if chunks else "empty", chunks)

    def same_document(self, arrival: Arrival, known: DocumentRecord) -> None:
        """Its hash is the recorded one; it was not even chunked."""
        fate: DocumentFate = "unchanged" if known.chunk_ids else "empty"
        self._record(arrival, fate, known.chunk_ids, known.payload_hashes)

    def duplicate(self, arrival: Arrival) -> None:
        """The document is taken from another row (see jobs/settle.py)."""
        self._record(arrival, "duplicate", (), ())

    def set_aside(self, arrival: Arrival, stage: str, reason: str) -> None:
        """A dead letter. Rows of an earlier version stay, and stay on record."""
        known = arrival.known
        kept = (known.chunk_ids, known.payload_hashes) if known else ((), ())
        self._record(arrival, "dead", *kept)
        if len(self.dead) < DEAD_LETTERS_KEPT:
            letter = DeadLetter(
                document_id=arrival.document_id,
                object_key=self._object_key,
                stage=stage,
                reason=reason,
                row=arrival.row,
            )
            self.dead.append(letter)

    def give_up(self, reason: str, rows: int) -> None:
        """The object cannot be read on: all its rows are dead, and only what it cost counts."""
        spent = self.total
        self._told, self._since = (
            Tally(),
            replace(spent, fates=Fates(dead=rows), chunks=0, sizes={}, warnings={}),
        )
        letter = DeadLetter(
            document_id="", object_key=self._object_key, stage="read", reason=reason
        )
        self.dead, self.contested = [letter], []

    def contest(
        self, arrival: Arrival, document_hash: str, *, won: bool, object_key: str = ""
    ) -> None:
        """One of several rows of a document; of another object than ours where that is named."""
        row = ContestedRow(
            document_id=arrival.document_id,
            object_key=object_key or self._object_key,
            row=arrival.row,
            document_hash=document_hash,
            won=won,
        )
        self.contested.append(row)

    # What it took

    def add(self, work: Tally) -> None:
        self._since += work

    def warn(self, warnings: Sequence[str]) -> None:
        """Count what a parser said; "furniture skipped: 3" counts three of its kind."""
        counted: Counter[str] = Counter()
        for warning in warnings:
            kind, _, number = warning.rpartition(": ")
            if kind and number.isdigit():
                counted[kind] += int(number)
            else:
                counted[warning] += 1
        self._since += Tally(warnings=dict(counted))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done in it; a stage within another one counts for itself alone."""
        begun, around, self._within = time.monotonic(), self._within, 0.0
        try:
            yield
        finally:
            took = time.monotonic() - begun
            self._since += Tally(seconds={name: took - self._within})
            self._within = around + took

    def flush(self) -> None:
        """At the end of a window: keep its records, and tell the live display."""
        self._writer.add(self._records)
        self._records = []
        self.tell()

    def tell(self) -> None:
        self._note(self._since)
        self._told, self._since = self.total, Tally()

    def put(self, objects: ObjectStore, key: str, first_row: int) -> Part:
        """Write the records of all windows."""
        return self._writer.put(objects, key, first_row)

    def _chunked(self, arrival: Arrival, fate: DocumentFate, chunks: Sequence[Chunk]) -> None:
        sizes = Counter(
            f"{c.kind} {c.token_count // SIZE_BIN_TOKENS * SIZE_BIN_TOKENS}" for c in chunks
        )
        self._since += Tally(sizes=dict(sizes))
        ids = tuple(chunk.chunk_id for chunk in chunks)
        self._record(arrival, fate, ids, tuple(chunk.payload_hash for chunk in chunks))

    def _record(
        self,
        arrival: Arrival,
        fate: DocumentFate,
        chunk_ids: tuple[str, ...],
        payload_hashes: tuple[str, ...],
    ) -> None:
        record = DocumentRecord(
            document_id=arrival.document_id,
            row=arrival.row,
            fate=fate,
            document_hash=arrival.document_hash,
            chunk_ids=chunk_ids,
            payload_hashes=payload_hashes,
        )
        self._records.append(record)
        self._since += Tally(fates=Fates(**{fate: 1}), chunks=len(chunk_ids))

"""Compare the ledger with the rows of its collection, by id and payload hash, in bounded memory.

Chunk ids are hashes, so their first hexadecimal digits cut both sides into slices of even size;
a slice at a time is held. The source is compared through the catalogue's etags.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import ceil, log

from storage.parts import read_records
from storage.protocols import ObjectInfo, ObjectStore, VectorStore
from storage.records import Catalogue, CatalogueEntry

ROWS_A_SLICE = 200_000
"""Some 100 MB of ids and hashes."""
NAMED_AT_MOST = 10_000
"""Findings of one kind that are named; more are counted."""
HEX = "0123456789abcdef"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    chunk_id: str
    document_id: str
    object_key: str = ""
    """Of the document, where the ledger knows it."""


@dataclass(slots=True)
class Findings:
    """What of one kind was found: all counted, the first ones named."""

    count: int = 0
    named: list[Finding] = field(default_factory=list)

    def add(self, finding: Finding) -> None:
        self.count += 1
        if len(self.named) < NAMED_AT_MOST:
            self.named.append(finding)


@dataclass(slots=True, kw_only=True)
class Audit:
    """What does not fit together. `clean` when nothing is wrong with the collection."""

    rows: int = 0
    expected: int = 0
    missing: Findings = field(default_factory=Findings)
    """On record, and not in the collection."""
    altered: Findings = field(default_factory=Findings)
    """There, with another payload than was written."""
    stale: Findings = field(default_factory=Findings)
    """Rows of a known document that are none of its chunks."""
    orphaned: Findings = field(default_factory=Findings)
    """Rows that some run wrote, of a document that the ledger does not know."""
    foreign: Findings = field(default_factory=Findings)
    """Rows that no run of this ledger wrote."""
    unsettled: list[str] = field(default_factory=list)
    """Objects with a shard that began and never ended; the next run mends them."""
    waiting: list[str] = field(default_factory=list)
    """Objects of the source that are new, changed or gone since the last run."""

    @property
    def clean(self) -> bool:
        kinds = (self.missing, self.altered, self.stale, self.orphaned, self.foreign)
        return not any(kind.count for kind in kinds)

    @property
    def to_rewrite(self) -> set[str]:
        """Objects whose documents lack rows."""
        return {f.object_key for kind in (self.missing, self.altered) for f in kind.named}

    @property
    def to_delete(self) -> list[str]:
        return [
            f.chunk_id for kind in (self.stale, self.orphaned, self.foreign) for f in kind.named
        ]


def audit(
    state: ObjectStore,
    catalogue: Catalogue,
    store: VectorStore,
    runs: Iterable[str],
    listed: Iterable[ObjectInfo],
) -> Audit:
    """Audit one collection.

    Args:
        state: Where the records are.
        catalogue: What the collection should hold.
        store: The collection.
        runs: Ids of all runs that the ledger knows.
        listed: The source as it is now.
    """
    found = Audit()
    known_runs = set(runs)
    total = max(store.count(), sum(entry.chunks for entry in catalogue.entries))
    for id_prefix in _prefixes(total):
        expected = dict(_expected(state, catalogue.entries, id_prefix))
        found.expected += len(expected)
        unseen = set(expected)
        odd = []
        for row in store.scan(id_prefix):
            found.rows += 1
            record = expected.get(row.chunk_id)
            if record is None:
                odd.append(row)
                continue
            unseen.discard(row.chunk_id)
            if record.payload_hash != row.payload_hash:
                found.altered.add(record.finding(row.chunk_id))
        for chunk_id in sorted(unseen):
            found.missing.add(expected[chunk_id].finding(chunk_id))
        places = _places(state, catalogue.entries, {row.document_id for row in odd})
        for row in odd:
            place = places.get(row.document_id)
            kind = found.stale if place else found.orphaned
            if row.run_id not in known_runs:
                kind = found.foreign
            kind.add(Finding(
                chunk_id=row.chunk_id, document_id=row.document_id, object_key=place or ""
            ))  # fmt: skip
    found.unsettled = [entry.key for entry in catalogue.entries if entry.residue]
    found.waiting = _waiting(catalogue.entries, listed)
    return found


@dataclass(frozen=True, slots=True)
class _Expected:
    document_id: str
    object_key: str
    payload_hash: str

    def finding(self, chunk_id: str) -> Finding:
        return Finding(chunk_id=chunk_id, document_id=self.document_id, object_key=self.object_key)


def _prefixes(rows: int) -> Iterator[str]:
    digits = max(0, ceil(log(max(rows, 1) / ROWS_A_SLICE, 16)))
    return map("".join, product(HEX, repeat=digits))


def _expected(
    state: ObjectStore, entries: Iterable[CatalogueEntry], id_prefix: str
) -> Iterator[tuple[str, _Expected]]:
    """Later parts of an object overrule earlier ones, document by document."""
    for entry in entries:
        latest: dict[str, list[tuple[str, str]]] = {}
        for part in entry.parts:
            for record in read_records(state, part.key):
                if record.fate != "duplicate":
                    rows = zip(record.chunk_ids, record.payload_hashes, strict=True)
                    latest[record.document_id] = [r for r in rows if r[0].startswith(id_prefix)]
        for document_id, kept in latest.items():
            for chunk_id, payload_hash in kept:
                yield chunk_id, _Expected(document_id, entry.key, payload_hash)


def _places(
    state: ObjectStore, entries: Iterable[CatalogueEntry], document_ids: set[str]
) -> dict[str, str]:
    """The object of each of these documents that the ledger knows."""
    if not document_ids:
        return {}
    return {
        record.document_id: entry.key
        for entry in entries
        for part in entry.parts
        for record in read_records(state, part.key)
        if record.document_id in document_ids and record.fate != "duplicate"
    }


def _waiting(entries: Iterable[CatalogueEntry], listed: Iterable[ObjectInfo]) -> list[str]:
    etags = {entry.key: entry.etag for entry in entries}
    now = {info.key: info.etag for info in listed}
    return sorted(key for key in etags.keys() | now.keys() if etags.get(key) != now.get(key))

"""Which objects and shards are due: the listing of the source against the catalogue."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from jobs.catalogue import Folded, skipped_whole
from jobs.settle import Settled, buckets_for, settle
from storage.documents import ParquetShape, read_ids, read_shape
from storage.errors import Fate, StorageError
from storage.parts import read_ids_of, read_intents
from storage.protocols import Location, ObjectInfo, ObjectStore
from storage.records import CatalogueEntry, ObjectPlan, Rival, RunPlan, ShardPlan

FOOTERS_AT_ONCE = 16
"""Parquet footers are read from the driver; each is one or two small requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a run may look at."""

    prefix: str = ""
    """Below the source's own; nothing outside it is read, written or deleted."""
    full: bool = False
    """Look at every document again, whatever the ledger knows."""
    only: frozenset[str] | None = None
    """For a rerun: these object keys and no others."""
    parent_run: str = ""

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves parts of the source out."""
        return bool(self.prefix) or self.only is not None

    def holds(self, source_prefix: str, key: str) -> bool:
        inside = key.startswith(source_prefix + self.prefix)
        return inside and (self.only is None or key in self.only)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardSize:
    """A shard ends with the row group that reaches one of these."""

    bytes: int
    """Decoded."""
    documents: int


@dataclass(frozen=True, slots=True)
class _Survey:
    """Footers of the objects that are due, and why some have none."""

    shapes: dict[str, ParquetShape]
    faults: dict[str, str]

    def __contains__(self, key: str) -> bool:
        return key in self.shapes or key in self.faults


def make_plan(
    source: Location,
    state: ObjectStore,
    folded: Folded,
    *,
    run_id: str,
    collection: str,
    scope: Scope,
    size: ShardSize,
    keep_vanished: Callable[[tuple[str, ...]], str],
    tell: Callable[[str], None] = lambda _: None,
) -> RunPlan:
    """List the source, settle its documents, and cut what is due into shards.

    Reads footers, and the `document_id` column of objects that are new or changed. The ids of
    vanished documents are handed to `keep_vanished`, which gives the key that it kept them under.
    """
    listed = [info for info in source.objects.list(source.prefix) if is_parquet(info.key)]
    in_scope = [info for info in listed if scope.holds(source.prefix, info.key)]
    catalogue = folded.catalogue
    entries = {entry.key: entry for entry in catalogue.entries}
    tell(f"objects listed: {len(listed)}, in scope: {len(in_scope)}")
    due = [i for i in in_scope if scope.full or not _is_current(i, entries.get(i.key))]
    survey = _survey(source, due)
    present = {info.key for info in listed}
    gone = [
        entry
        for entry in catalogue.entries
        if entry.key not in present and scope.holds(source.prefix, entry.key)
    ]
    changed = [entries[key] for key in survey.shapes if key in entries]
    earlier = _Earlier(state, [*changed, *gone], folded.unswept, survey.faults)
    settled = _settle(source, listed, entries, survey, earlier)
    # An unchanged object whose document is taken from elsewhere now must be read again; so must the
    # one that it is taken from, or nobody could tell whether the two rows say the same.
    late = [i for i in in_scope if i.key in settled.contested and i.key not in survey]
    more = _survey(source, late)
    survey = _Survey(survey.shapes | more.shapes, survey.faults | more.faults)

    unwalked = {info.key: info for info in listed if info.key not in survey.shapes}
    shards: list[ShardPlan] = []
    objects: list[ObjectPlan] = []
    for info in in_scope:
        first = len(shards)
        if info.key in survey.shapes:
            known = None if scope.full else entries.get(info.key)
            shards += _cut(
                info,
                survey.shapes[info.key],
                settled,
                unwalked,
                known=known,
                size=size,
                number=first,
            )
        objects.append(
            ObjectPlan(
                key=info.key,
                etag=info.etag,
                shards=len(shards) - first,
                fault=survey.faults.get(info.key, ""),
            )
        )
    return RunPlan(
        run_id=run_id,
        fingerprint=catalogue.fingerprint,
        collection=collection,
        prefix=source.prefix + scope.prefix,
        objects=tuple(objects),
        shards=tuple(shards),
        skipped=skipped_whole(entries[i.key] for i in in_scope if i.key not in survey),
        vanished_key=keep_vanished(settled.vanished),
        vanished=len(settled.vanished),
        known_documents=sum(e.fates.read for e in catalogue.entries),
        gone_objects=tuple(entry.key for entry in gone),
        parent_run=scope.parent_run,
    )


def is_parquet(key: str) -> bool:
    """Marker files of other writers (`_SUCCESS`, `.crc`) stand beside the data."""
    name = key.rpartition("/")[2]
    return name.lower().endswith((".parquet", ".parq", ".pq")) and not name.startswith((".", "_"))


def _is_current(info: ObjectInfo, entry: CatalogueEntry | None) -> bool:
    return entry is not None and entry.clean and entry.etag == info.etag


def _survey(source: Location, due: Iterable[ObjectInfo]) -> _Survey:
    """Read the footers; an object that cannot be read is set aside with its reason."""

    def look(info: ObjectInfo) -> tuple[str, ParquetShape | str]:
        try:
            return info.key, read_shape(source.objects, info)
        except StorageError as error:
            if error.fate is not Fate.SET_ASIDE:
                raise
            return info.key, str(error)

    survey = _Survey({}, {})
    with ThreadPoolExecutor(FOOTERS_AT_ONCE) as pool:
        for key, found in pool.map(look, due):
            if isinstance(found, str):
                survey.faults[key] = found
            else:
                survey.shapes[key] = found
    return survey


@dataclass(frozen=True, slots=True)
class _Earlier:
    """What earlier runs may have stored, and this one has to find again or to delete."""

    state: ObjectStore
    entries: list[CatalogueEntry]
    """Of objects that changed or are gone."""
    unswept: tuple[str, ...]
    faults: Mapping[str, str]
    """Objects that cannot be read: nobody can say what vanished from them."""

    def ids(self) -> Iterator[str]:
        for entry in self.entries:
            if entry.key in self.faults:
                continue
            for part in entry.parts:
                yield from read_ids_of(self.state, part.key)
            yield from read_intents(self.state, entry.residue)
        for key in self.unswept:
            yield from read_ids_of(self.state, key)


def _settle(
    source: Location,
    listed: list[ObjectInfo],
    entries: dict[str, CatalogueEntry],
    survey: _Survey,
    earlier: _Earlier,
) -> Settled:
    infos = {info.key: info for info in listed}

    def ids_in(key: str) -> Iterator[tuple[int, str]]:
        try:
            yield from ids_of(key)
        except StorageError as error:
            if error.fate is not Fate.SET_ASIDE:
                raise
            if key in survey.shapes:  # else it is not this run's to report
                del survey.shapes[key]
                survey.faults[key] = str(error)

    def ids_of(key: str) -> Iterator[tuple[int, str]]:
        entry = entries.get(key)
        if key in survey.shapes or entry is None or entry.etag != infos[key].etag:
            ids = enumerate(read_ids(source.objects, infos[key]))
            yield from ((row, i) for row, i in ids if i)
        else:
            for part in entry.parts:
                yield from enumerate(read_ids_of(earlier.state, part.key), part.first_row)

    rows = sum(shape.rows for shape in survey.shapes.values())
    rows += sum(part.rows for entry in entries.values() for part in entry.parts)
    keys = [info.key for info in listed if info.key not in survey.faults]
    return settle(keys, ids_in, earlier.ids, buckets_for(rows))


def _rivals(
    document_ids: Iterable[str], settled: Settled, unwalked: Mapping[str, ObjectInfo]
) -> Iterator[Rival]:
    """Where contested documents are taken from, if no shard of this run reads it."""
    for document_id in document_ids:
        winner, row = settled.winners[document_id]
        if (info := unwalked.get(winner)) is not None:
            yield Rival(
                document_id=document_id,
                object_key=info.key,
                etag=info.etag,
                size=info.size,
                row=row,
            )


def _cut(
    info: ObjectInfo,
    shape: ParquetShape,
    settled: Settled,
    unwalked: Mapping[str, ObjectInfo],
    *,
    known: CatalogueEntry | None,
    size: ShardSize,
    number: int,
) -> Iterator[ShardPlan]:
    """Consecutive row groups until a shard is large enough; at least one each."""
    losers = settled.losers.get(info.key, ())
    several = settled.contested.get(info.key, ())
    start = row = rows = size_so_far = 0
    last = len(shape.row_groups) - 1
    for index, group in enumerate(shape.row_groups):
        rows, size_so_far = rows + group.rows, size_so_far + group.decoded_bytes
        full = rows >= size.documents or size_so_far >= size.bytes
        if rows and (full or index == last):
            contested = tuple(sorted({i for n, i in several if row <= n < row + rows}))
            yield ShardPlan(
                number=number,
                object_key=info.key,
                etag=info.etag,
                size=info.size,
                first_group=start,
                group_count=index + 1 - start,
                first_row=row,
                rows=rows,
                losers=tuple(n for n in losers if row <= n < row + rows),
                contested=contested,
                rivals=tuple(_rivals(contested, settled, unwalked)),
                known=known.parts if known else (),
                residue=known.residue if known else (),
            )
            number, start, row = number + 1, index + 1, row + rows
            rows = size_so_far = 0

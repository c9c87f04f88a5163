"""The target of `kitelift convert`: what it holds, and how it becomes what it should hold."""

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from jobs.config import ConfigError
from jobs.conversion.layout import Cutter
from storage.converted import EncodedRow, RowReader, StoredRow, converted_writer, read_stored
from storage.document_writer import DocumentWriter
from storage.errors import BadParquetError
from storage.protocols import Location, ObjectInfo

READS_AT_ONCE = 8

_OURS = re.compile(r"part-[0-9a-f]{16}\.parquet")

Order = tuple[str, str]


@dataclass(slots=True)
class Held:
    """What is in the target."""

    infos: dict[str, ObjectInfo] = field(default_factory=dict)
    """Of the objects that convert wrote, by name; nothing else is ever touched."""
    rows: dict[str, list[Order]] = field(default_factory=dict)
    """Which documents they hold, in order."""
    stored: dict[Order, StoredRow] = field(default_factory=dict)


@dataclass(slots=True)
class Changes:
    """Objects."""

    written: int = 0
    kept: int = 0
    deleted: int = 0


def read_target(target: Location) -> Held:
    """Find out what earlier calls left, from the objects themselves.

    Raises:
        ConfigError: An object of ours is damaged.
    """
    held = Held()
    listed = [
        info
        for info in target.objects.list(target.prefix)
        if _OURS.fullmatch(info.key.removeprefix(target.prefix))
    ]

    def look(info: ObjectInfo) -> list[StoredRow] | None:
        try:
            return read_stored(target.objects, info)
        except BadParquetError as error:
            raise ConfigError(
                f"{error} It lies in {target.objects.place}; delete it, and convert again."
            ) from error

    with ThreadPoolExecutor(READS_AT_ONCE) as pool:
        for info, rows in zip(listed, pool.map(look, listed), strict=True):
            if rows is not None:
                name = info.key.removeprefix(target.prefix)
                held.infos[name] = info
                held.rows[name] = [row.origin.order for row in rows]
                held.stored.update((row.origin.order, row) for row in rows)
    return held


@dataclass(slots=True, kw_only=True)
class _Object:
    """One that is being made: what its name holds already, as long as nothing differs."""

    name: str
    key: str
    kept: int = 0
    """So many documents are the first ones of the stored object."""
    differs: bool = False
    writer: DocumentWriter | None = None
    """Once it differs, unless this is a dry run."""

    def continues(self, document: EncodedRow | StoredRow) -> bool:
        return (
            not self.differs
            and isinstance(document, StoredRow)
            and (document.key, document.number) == (self.key, self.kept)
        )


class TargetWriter:
    """Brings the target to what the documents that it is told of amount to, in their order.

    Objects of new names are written as soon as they are complete. One that replaces another waits
    until the walk has passed every document of the old one, and what is not needed any more goes
    last: so each document that stays is in some object at every moment, and an object can be read
    while its successor is made. After a kill, the next call finds what is there and goes on.
    """

    def __init__(self, target: Location, held: Held, *, object_bytes: int, dry_run: bool) -> None:
        self._target, self._held, self._dry_run = target, held, dry_run
        self._cutter = Cutter(object_bytes)
        self._readers: dict[str, RowReader] = {}
        self._waiting: dict[str, bytes] = {}
        self._made: set[str] = set()
        self.changes = Changes()

    def write(self, documents: Iterable[EncodedRow | StoredRow]) -> None:
        """Raises StorageError when the target cannot be written; what was written stays."""
        try:
            self._write(documents)
        finally:
            for reader in self._readers.values():
                reader.close()

    def _write(self, documents: Iterable[EncodedRow | StoredRow]) -> None:
        cutter = self._cutter
        one: _Object | None = None
        for document in documents:
            one = one or _Object(name=cutter.name, key=self._target.prefix + cutter.name)
            self._add(one, document)
            if cutter.ends_after(document.origin.order, document.size):
                self._finish(one)
                self._put_waiting_up_to(document.origin.order)
                one = None
        if one:
            self._finish(one)
        for name in [*self._waiting]:
            self._put_waiting(name)
        for name in self._held.infos.keys() - self._made:
            self._close_reader(name)
            if not self._dry_run:
                self._target.objects.delete(self._held.infos[name].key)
            self.changes.deleted += 1

    def _add(self, one: _Object, document: EncodedRow | StoredRow) -> None:
        if one.continues(document):
            one.kept += 1
            return
        self._differ(one)
        if one.writer:
            self._copy(document, one.writer)

    def _differ(self, one: _Object) -> None:
        """From here on the object is another than the one of its name; take over what was kept."""
        if one.differs:
            return
        one.differs = True
        if self._dry_run:
            return
        one.writer = converted_writer()
        for order in self._held.rows.get(one.name, [])[: one.kept]:
            self._copy(self._held.stored[order], one.writer)

    def _copy(self, document: EncodedRow | StoredRow, writer: DocumentWriter) -> None:
        if isinstance(document, StoredRow):
            document = self._reader(document).copy(document)
        writer.add_row(document.row, document.size)

    def _finish(self, one: _Object) -> None:
        self._made.add(one.name)
        if one.kept < len(self._held.rows.get(one.name, [])):
            self._differ(one)
        if not one.differs:
            self.changes.kept += 1
        elif one.writer is None:
            self.changes.written += 1
        elif one.name in self._held.infos:
            self._waiting[one.name] = one.writer.finish()
        else:
            self._put(one.name, one.writer.finish())

    def _put_waiting_up_to(self, order: Order) -> None:
        for name in [*self._waiting]:
            if max(self._held.rows[name]) <= order:
                self._put_waiting(name)

    def _put_waiting(self, name: str) -> None:
        data = self._waiting.pop(name)
        self._close_reader(name)
        info = self._held.infos[name]
        if info.size == len(data) and self._target.objects.get(info.key)[0] == data:
            self.changes.kept += 1
        else:
            self._put(name, data)

    def _put(self, name: str, data: bytes) -> None:
        self._target.objects.put(self._target.prefix + name, data)
        self.changes.written += 1

    def _reader(self, document: StoredRow) -> RowReader:
        name = document.key.removeprefix(self._target.prefix)
        if name not in self._readers:
            self._readers[name] = RowReader(self._target.objects, self._held.infos[name])
        return self._readers[name]

    def _close_reader(self, name: str) -> None:
        if reader := self._readers.pop(name, None):
            reader.close()

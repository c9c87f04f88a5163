"""Parquet that `kitelift convert` wrote: parsed documents, each with what it was made of.

The column `origin` stands behind those of SPEC section 2; the job does not read it. With it the
objects are their own manifest: there is no other file that could disagree with them.
"""

from collections.abc import Generator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from chunking.model import Document
from storage.document_writer import SCHEMA, DocumentWriter, document_row
from storage.documents import opened
from storage.protocols import ObjectInfo, ObjectStore

_ORIGIN_TYPE = pa.struct(
    [
        pa.field("root", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("digest", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("warnings", pa.list_(pa.string())),
    ]
)
_MARK = {b"written_by": b"kitelift convert"}
_SCHEMA = SCHEMA.append(pa.field("origin", _ORIGIN_TYPE)).with_metadata(_MARK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a document was made of."""

    root: str
    """The folder or bucket's prefix, as the caller named it."""
    path: str
    """Of the file, below the root."""
    digest: str
    """Of its bytes, and of all settings that shape the document."""
    warnings: tuple[str, ...] = ()
    """`Document.warnings`, which have no column of their own."""

    @property
    def order(self) -> tuple[str, str]:
        """How documents are ordered in a target."""
        return self.path, self.root


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedRow:
    """A document in Arrow's form, as it travels from a worker to the writer."""

    document_id: str
    origin: Origin
    size: int
    """In bytes, decoded; the same on every machine."""
    row: pa.RecordBatch

    def __reduce__(self) -> tuple[Any, ...]:
        """As one message of Arrow: buffer by buffer, as pickle would, takes five times as long."""
        return _received, (self.document_id, self.origin, self.size, self.row.serialize())


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRow:
    """A document in an object of the target."""

    document_id: str
    origin: Origin
    size: int
    key: str
    """Of the object."""
    number: int
    """Its row there, from 0."""


def encode(document: Document, origin: Origin) -> EncodedRow:
    """Encode a document for `ConvertedWriter`.

    Raises:
        BadDocumentError: It cannot be written.
    """
    row = document_row(document)
    told = pa.array([{**asdict(origin), "size": row.nbytes}], _ORIGIN_TYPE)
    return EncodedRow(
        document_id=document.document_id,
        origin=origin,
        size=row.nbytes,
        row=pa.RecordBatch.from_arrays([*row.columns, told], schema=_SCHEMA),
    )


def _received(document_id: str, origin: Origin, size: int, message: pa.Buffer) -> EncodedRow:
    row = pa.ipc.read_record_batch(message, _SCHEMA)
    return EncodedRow(document_id=document_id, origin=origin, size=size, row=row)


def read_stored(objects: ObjectStore, info: ObjectInfo) -> list[StoredRow] | None:
    """The documents of an object, in order; None if `kitelift convert` did not write it.

    Raises:
        BadParquetError: It is damaged, or no Parquet of documents at all.
        ObjectMissingError, ObjectChangedError: The listed version is not there any more.
    """
    stored: list[StoredRow] = []
    with opened(objects, info) as (file, _):
        if _MARK.items() - (file.schema_arrow.metadata or {}).items():
            return None
        for batch in file.iter_batches(columns=["document_id", "origin"], use_threads=False):
            for document_id, origin in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                size, warnings = origin.pop("size"), tuple(origin.pop("warnings"))
                stored.append(
                    StoredRow(
                        document_id=document_id,
                        origin=Origin(**origin, warnings=warnings),
                        size=size,
                        key=info.key,
                        number=len(stored),
                    )
                )
    return stored


class RowReader:
    """Copies rows out of one object, with one row group in memory.

    Raises:
        BadParquetError, ObjectMissingError, ObjectChangedError: When opened, and at any row.
    """

    def __init__(self, objects: ObjectStore, info: ObjectInfo) -> None:
        self._groups = _groups(objects, info)
        self._again = partial(_groups, objects, info)
        self._first, self._rows = next(self._groups)

    def copy(self, stored: StoredRow) -> EncodedRow:
        """As `encode` gave it. Rows are best asked for in their order."""
        if stored.number < self._first:
            self.close()
            self._groups = self._again()
            self._first, self._rows = next(self._groups)
        while stored.number >= self._first + self._rows.num_rows:
            self._first, self._rows = next(self._groups)
        return EncodedRow(
            document_id=stored.document_id,
            origin=stored.origin,
            size=stored.size,
            row=self._rows.slice(stored.number - self._first, 1),
        )

    def close(self) -> None:
        self._groups.close()


def _groups(
    objects: ObjectStore, info: ObjectInfo
) -> Generator[tuple[int, pa.RecordBatch], None, None]:
    """Each row group, with the number of its first row."""
    first = 0
    with opened(objects, info) as (file, _):
        for place in range(file.num_row_groups):
            group = file.read_row_group(place, use_threads=False).cast(_SCHEMA)
            for batch in group.combine_chunks().to_batches():
                yield first, batch
                first += batch.num_rows


def converted_writer() -> DocumentWriter:
    """A writer for rows of `encode` and `RowReader`."""
    return DocumentWriter(_SCHEMA)

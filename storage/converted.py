"""Parquet that `kitelift convert` wrote: parsed documents, each with what it was made of.

The column `origin` stands behind those of SPEC section 2; the job does not read it. With it the
objects are their own manifest: there is no other file that could disagree with them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

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


def copy_rows(
    objects: ObjectStore, info: ObjectInfo, numbers: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """These rows of an object, ascending, one row group in memory. Raises as `read_stored`."""
    wanted = iter(numbers)
    number = next(wanted, None)
    with opened(objects, info) as (file, _):
        first = 0
        for place in range(file.num_row_groups):
            end = first + file.metadata.row_group(place).num_rows
            if number is not None and number < end:
                group = file.read_row_group(place, use_threads=False).combine_chunks()
                (batch,) = group.cast(_SCHEMA).to_batches()
                while number is not None and number < end:
                    yield batch.slice(number - first, 1)
                    number = next(wanted, None)
            first = end


def converted_writer() -> DocumentWriter:
    """A writer for rows of `encode` and `copy_rows`."""
    return DocumentWriter(_SCHEMA)

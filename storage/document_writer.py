"""Parsed documents written as Parquet, the same documents always as the same bytes."""

import io
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from chunking.ids import canonical_json
from chunking.model import Block, Document
from storage.document_columns import STRING_COLUMNS
from storage.document_rows import checked_id
from storage.errors import BadDocumentError
from storage.protocols import ObjectInfo, ObjectStore

BLOCK_TYPE = pa.struct(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        ("level", pa.int32()),
        ("heading_path", pa.list_(pa.string())),
        ("page", pa.int32()),
        ("sheet", pa.string()),
        ("slide", pa.int32()),
        ("cell_range", pa.string()),
        ("bbox", pa.list_(pa.float64())),
        ("caption", pa.string()),
        ("language", pa.string()),
        ("image_uri", pa.string()),
        ("speaker", pa.string()),
        ("ts_start", pa.float64()),
        ("ts_end", pa.float64()),
        ("char_start", pa.int64()),
    ]
)
SCHEMA = pa.schema(
    [
        pa.field("document_id", pa.string(), nullable=False),
        ("file_title", pa.string()),
        ("source", pa.string()),
        ("item_name", pa.string()),
        ("blocks", pa.list_(BLOCK_TYPE)),
        ("markdown", pa.string()),
        ("text", pa.string()),
        pa.field("metadata", pa.string(), metadata={"content": "a JSON object"}),
    ]
)
"""SPEC section 2, as `kitelift convert` writes it; readers accept more (storage/documents.py)."""

ROW_GROUP_BYTES = 1 << 20
"""Decoded. A shard is one or more row groups, and to embed a megabyte takes a minute or so."""

ROW_GROUP_ROWS = 1000

_REPEATING = [
    "item_name",
    *(f"blocks.list.element.{name}" for name in ("kind", "sheet", "language", "speaker")),
    "blocks.list.element.heading_path.list.element",
]
"""Columns worth a dictionary; in the others it is built, found too large, and thrown away."""

_block_values = attrgetter(*BLOCK_TYPE.names)


class DocumentWriter:
    """Collects documents into one Parquet file in memory.

    The bytes depend on the documents and their order alone (and on pyarrow's version), so that
    converting the same input again changes no object.

    Args:
        schema: That of the rows: `SCHEMA`, and columns behind it that its readers do not need.
    """

    def __init__(self, schema: pa.Schema = SCHEMA) -> None:
        self._schema = schema
        self._file = io.BytesIO()
        self._parquet = pq.ParquetWriter(
            self._file,
            schema,
            compression="zstd",
            use_dictionary=_REPEATING,
            write_statistics=["document_id"],
            write_page_checksum=True,
        )
        self._group: list[pa.RecordBatch] = []
        self._group_bytes = 0
        self.documents = 0

    @property
    def size(self) -> int:
        """About how large the file is so far: what is written, and decoded what is not yet."""
        return self._file.tell() + self._group_bytes

    def add(self, document: Document) -> None:
        """Add one document; warnings are not written.

        Raises:
            BadDocumentError: As `document_row`. The file goes on without it.
        """
        row = document_row(document)
        self.add_row(row, row.nbytes)

    def add_row(self, row: pa.RecordBatch, size: int) -> None:
        """Add a row that is encoded already; `size` in bytes decides where row groups end."""
        self._group.append(row)
        self._group_bytes += size
        self.documents += 1
        if self._group_bytes >= ROW_GROUP_BYTES or len(self._group) >= ROW_GROUP_ROWS:
            self._end_group()

    def finish(self) -> bytes:
        """The whole file. Nothing can be added any more."""
        self._end_group()
        self._parquet.close()
        return self._file.getvalue()

    def _end_group(self) -> None:
        if self._group:
            table = pa.Table.from_batches(self._group, self._schema).combine_chunks()
            self._parquet.write_table(table, row_group_size=len(self._group))
        self._group, self._group_bytes = [], 0


def document_row(document: Document) -> pa.RecordBatch:
    """Encode one document as a row of `SCHEMA`.

    Raises:
        BadDocumentError: It cannot be written (half of a surrogate pair, a number that is too
            large, no id).
    """
    checked_id(document.document_id, 0)
    row: dict[str, Any] = {name: getattr(document, name) or None for name in STRING_COLUMNS}
    try:
        if document.metadata:
            row["metadata"] = canonical_json(document.metadata).decode()
        columns = [
            _blocks_column(document.blocks)
            if field.name == "blocks"
            else pa.array([row.get(field.name)], field.type)
            for field in SCHEMA
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
        raise BadDocumentError(document.document_id, "write", str(error)) from error


def _blocks_column(blocks: Sequence[Block] | None) -> pa.Array:
    """One list of structs, built field by field: block by block takes four times as long."""
    if not blocks:
        return pa.array([None if blocks is None else []], SCHEMA.field("blocks").type)
    values = zip(*map(_block_values, blocks), strict=True)
    fields = list(BLOCK_TYPE)
    parts = [pa.array(value, field.type) for value, field in zip(values, fields, strict=True)]
    structs = pa.StructArray.from_arrays(parts, fields=fields)
    return pa.ListArray.from_arrays([0, len(blocks)], structs)


def write_documents(objects: ObjectStore, key: str, documents: Iterable[Document]) -> ObjectInfo:
    """Write one object of all these documents, which have to fit into memory.

    Raises:
        BadDocumentError: One of them cannot be written; nothing was.
    """
    writer = DocumentWriter()
    for document in documents:
        writer.add(document)
    data = writer.finish()
    return ObjectInfo(key=key, etag=objects.put(key, data), size=len(data))

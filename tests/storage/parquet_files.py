"""Parquet files for tests: as pyarrow writes them, or with cells that are not UTF-8."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from chunking.model import Document
from storage.document_writer import SCHEMA
from storage.documents import read_documents
from storage.errors import BadDocumentError
from storage.protocols import ObjectInfo

BLOCK = pa.struct([("kind", pa.string()), ("text", pa.string())])

ROWS = {
    "document_id": ["a", "b", "c"],
    "file_title": ["A", None, "C"],
    "source": ["a.md", "dir/b.md", None],
    "item_name": [None, None, "x"],
    "blocks": [
        [
            {"kind": "heading", "text": "H", "level": 1},
            {"kind": "paragraph", "text": "一", "page": 2},
        ],
        None,
        None,
    ],
    "markdown": [None, "# B", None],
    "text": [None, None, "plain"],
    "metadata": ['{"k":"v"}', None, None],
}
TABLE = pa.Table.from_pylist(
    [dict(zip(ROWS, cells, strict=True)) for cells in zip(*ROWS.values(), strict=True)], SCHEMA
)


def put(objects, table: pa.Table, key: str = "in/报告 1.parquet", **options: Any) -> ObjectInfo:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    objects.put(key, file.getvalue())
    return objects.head(key)


def read(objects, info: ObjectInfo, **options: Any) -> list[Document | BadDocumentError]:
    rows = list(read_documents(objects, info, **options))
    assert [number for number, _ in rows] == list(range(rows[0][0], rows[0][0] + len(rows)))
    return [document for _, document in rows]


def read_one(objects, **columns: Any) -> Document | BadDocumentError:
    """One row with these columns."""
    table = pa.table({"document_id": ["d"]} | {name: [cell] for name, cell in columns.items()})
    (document,) = read(objects, put(objects, table))
    return document


def invalid_utf8(*cells: bytes) -> pa.Array:
    """Strings as a writer in another language may have left them."""
    array = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(cells), array.buffers())

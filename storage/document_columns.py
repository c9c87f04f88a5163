"""Which columns of a Parquet file hold documents, and whether their types can be read."""

from dataclasses import fields
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from chunking.model import Block
from storage.errors import BadParquetError

CONTENT_COLUMNS = ("blocks", "markdown", "text")
"""What a document is made of: the first that is there. At least one column is required."""

STRING_COLUMNS = ("document_id", "file_title", "source", "item_name", "markdown", "text")
BLOCK_FIELDS = tuple(field.name for field in fields(Block))

_COLUMNS = (*STRING_COLUMNS, "blocks", "metadata")


def checked_paths(file: pq.ParquetFile, key: str) -> list[str]:
    """Paths of the leaf columns that documents are made of.

    Raises:
        BadParquetError: A required column is missing, or one has a type that cannot be read.
    """
    schema = file.schema_arrow
    if doubled := {name for name in _COLUMNS if schema.names.count(name) > 1}:
        raise BadParquetError(key, f"it has the column {min(doubled)} twice")
    if "document_id" not in schema.names:
        raise BadParquetError(key, f"it has no column document_id, only {_named(schema.names)}")
    if not any(name in schema.names for name in CONTENT_COLUMNS):
        raise BadParquetError(
            key, f"it has none of {', '.join(CONTENT_COLUMNS)}, only {_named(schema.names)}"
        )
    wanted: list[bool] = []
    for column in schema:
        fits, expected = _EXPECTED.get(column.name, (None, ""))
        if fits and not (fits(column.type) or pa.types.is_null(column.type)):
            raise BadParquetError(key, f"its column {column.name} is {column.type}, not {expected}")
        wanted += _wanted_leaves(column)
    return [file.schema.column(i).path for i, take in enumerate(wanted) if take]


def _wanted_leaves(column: "pa.Field[Any]") -> list[bool]:
    """For each leaf of a column, whether to read it: not the fields that blocks do not have."""
    if column.name == "blocks" and _is_list(column.type) and pa.types.is_struct(_item(column.type)):
        return [
            part.name in BLOCK_FIELDS
            for part in _item(column.type)
            for _ in range(_leaves(part.type))
        ]
    return [column.name in _COLUMNS] * _leaves(column.type)


def _leaves(kind: pa.DataType) -> int:
    """How many Parquet columns a type takes."""
    if isinstance(kind, pa.BaseExtensionType):
        return _leaves(kind.storage_type)
    if pa.types.is_map(kind):
        return _leaves(kind.key_type) + _leaves(kind.item_type)
    if pa.types.is_struct(kind):
        return sum(_leaves(part.type) for part in kind)
    return _leaves(_item(kind)) if _is_list(kind) else 1


def _is_text(kind: pa.DataType) -> bool:
    """Strings, and the bytes that some writers store them as."""
    if isinstance(kind, pa.BaseExtensionType):  # arrow.json
        return _is_text(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return any(
        bool(test(kind))
        for test in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
        )
    )


def _is_list(kind: pa.DataType) -> bool:
    return any(
        bool(test(kind))
        for test in (
            pa.types.is_list,
            pa.types.is_large_list,
            pa.types.is_fixed_size_list,
            pa.types.is_list_view,
            pa.types.is_large_list_view,
        )
    )


def _item(kind: pa.DataType) -> Any:
    return cast("Any", kind).value_type


def _is_blocks(kind: pa.DataType) -> bool:
    if not _is_list(kind):
        return _is_text(kind)  # JSON
    item = _item(kind)
    if pa.types.is_struct(item):
        return {"kind", "text"} <= {part.name for part in item}
    return _is_text(item) or pa.types.is_null(item)


def _is_metadata(kind: pa.DataType) -> bool:
    return pa.types.is_map(kind) or pa.types.is_struct(kind) or _is_text(kind)


_EXPECTED = {
    **dict.fromkeys(STRING_COLUMNS, (_is_text, "string")),
    "blocks": (_is_blocks, "a list of structs with kind and text"),
    "metadata": (_is_metadata, "a map, a struct or JSON in a string"),
}


def _named(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")

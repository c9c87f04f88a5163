"""The same documents, as other writers spell their types (CASES C106)."""

import json

import pyarrow as pa
import pytest

from storage.documents import document_hash
from storage.local_objects import LocalObjectStore
from tests.storage.parquet_files import ROWS, TABLE, put, read


@pytest.fixture
def objects(tmp_path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "store")


def large(kind: pa.DataType) -> pa.DataType:
    """The same type with 64-bit offsets all through."""
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_struct(kind):
        return pa.struct([(part.name, large(part.type)) for part in kind])
    return pa.large_list(large(kind.value_type)) if pa.types.is_list(kind) else kind


def with_json_blocks(table: pa.Table) -> pa.Table:
    cells = [None if cell is None else json.dumps(cell) for cell in ROWS["blocks"]]
    return table.set_column(4, "blocks", pa.array(cells))


def with_list_of_json_blocks(table: pa.Table) -> pa.Table:
    cells = [
        None if cell is None else [json.dumps(item) for item in cell] for cell in ROWS["blocks"]
    ]
    return table.set_column(4, "blocks", pa.array(cells))


def with_map(table: pa.Table) -> pa.Table:
    cells = pa.array([[("k", "v")], None, []], pa.map_(pa.string(), pa.string()))
    return table.set_column(7, "metadata", cells)


def with_struct(table: pa.Table) -> pa.Table:
    cells = pa.array([{"k": "v", "other": None}, None, {"k": None, "other": None}])
    return table.set_column(7, "metadata", cells)


def with_floats_for_integers(table: pa.Table) -> pa.Table:
    """As pandas writes integers beside nulls."""
    kind = pa.list_(
        pa.struct(
            [
                ("kind", pa.string()),
                ("text", pa.string()),
                ("level", pa.float64()),
                ("page", pa.float32()),
            ]
        )
    )
    return table.set_column(4, "blocks", pa.array(ROWS["blocks"], kind))


def with_dictionaries(table: pa.Table) -> pa.Table:
    for place, name in enumerate(table.schema.names):
        if pa.types.is_string(table.schema.types[place]):
            table = table.set_column(place, name, table[name].dictionary_encode())
    return table


def with_extra_columns(table: pa.Table) -> pa.Table:
    kind = pa.list_(
        pa.struct(
            [
                ("junk", pa.struct([("text", pa.string()), ("page", pa.int32())])),
                ("page", pa.int8()),
                ("text", pa.string()),
                ("kind", pa.string()),
                ("level", pa.int16()),
            ]
        )
    )
    table = table.set_column(4, "blocks", pa.array(ROWS["blocks"], kind))
    return table.append_column("vector", pa.array([[1.0], None, []])).append_column(
        "n", [[1, 2, 3]]
    )


@pytest.mark.parametrize(
    "spelling",
    [
        lambda t: t.cast(pa.schema([(f.name, large(f.type)) for f in t.schema])),
        lambda t: t.cast(
            pa.schema(
                [(f.name, pa.string_view() if f.type == pa.string() else f.type) for f in t.schema]
            )
        ),
        lambda t: t.cast(
            pa.schema(
                [(f.name, pa.binary() if f.type == pa.string() else f.type) for f in t.schema]
            )
        ),
        with_dictionaries,
        lambda t: t.select(t.schema.names[::-1]),
        with_extra_columns,
        with_json_blocks,
        with_list_of_json_blocks,
        with_map,
        with_struct,
        with_floats_for_integers,
    ],
    ids=[
        "large",
        "view",
        "binary",
        "dictionary",
        "reordered",
        "extra",
        "json",
        "list of json",
        "map",
        "struct",
        "floats",
    ],
)
@pytest.mark.parametrize("store_schema", [True, False], ids=["arrow schema", "parquet only"])
def test_documents_are_equal_however_their_types_are_spelled(objects, spelling, store_schema):
    expected = read(objects, put(objects, TABLE))
    respelled = spelling(TABLE)
    assert respelled.schema != TABLE.schema

    found = read(objects, put(objects, respelled, store_schema=store_schema))

    assert found == expected
    assert [document_hash(d) for d in found] == [document_hash(d) for d in expected]
    assert [d.document_id for d in found] == ["a", "b", "c"]


@pytest.mark.parametrize("name", [name for name in ROWS if name not in {"document_id", "markdown"}])
def test_a_column_that_is_all_null_is_as_good_as_none(objects, name):
    columns = {"document_id": ["d"], "markdown": ["# A"], name: pa.nulls(1)}

    (with_nulls,) = read(objects, put(objects, pa.table(columns)))
    del columns[name]
    (without,) = read(objects, put(objects, pa.table(columns)))

    assert with_nulls == without

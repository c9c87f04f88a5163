"""Rows of Parquet that are no documents: each stays alone and says what is wrong with it."""

import pyarrow as pa
import pytest

from storage.documents import read_ids
from storage.errors import BadDocumentError
from storage.local_objects import LocalObjectStore
from tests.storage.parquet_files import invalid_utf8, put, read


@pytest.fixture
def objects(tmp_path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "store")


def test_a_row_without_an_id_is_named_and_the_others_are_read(objects):
    table = pa.table({"document_id": ["a", None, "", "d\0"], "text": ["x"] * 4})
    info = put(objects, table)

    first, *bad = read(objects, info)

    assert first.document_id == "a"
    assert [str(error) for error in bad] == [
        "document '' failed in stage read: row 1 has no document_id",
        "document '' failed in stage read: row 2 has no document_id",
        "document 'd\\x00' failed in stage read: the document_id of row 3 holds a NUL character",
    ]
    assert list(read_ids(objects, info)) == ["a", None, None, None]


def test_an_id_is_never_altered(objects):
    ids = [" a ", "\ufeffb", "e\u0301", "\u00e9", "a\r\nb", "\x07"]
    info = put(objects, pa.table({"document_id": ids, "text": ["x"] * 6}))

    assert [d.document_id for d in read(objects, info)] == ids == list(read_ids(objects, info))


@pytest.mark.parametrize("store_schema", [True, False])
def test_text_that_is_not_utf8_costs_its_own_document_only(objects, store_schema):
    cells = [b"good"] * 150
    cells[70], cells[149] = b"half \xed\xa0\xbd pair", b"\xff"
    ids = [f"d{n}" for n in range(150)]
    info = put(
        objects,
        pa.table({"document_id": ids, "text": invalid_utf8(*cells)}),
        store_schema=store_schema,
    )

    found = read(objects, info)

    bad = {n: error for n, error in enumerate(found) if isinstance(error, BadDocumentError)}
    assert {n: (e.document_id, e.reason) for n, e in bad.items()} == {
        70: ("d70", "row 70 is not UTF-8: text"),
        149: ("d149", "row 149 is not UTF-8: text"),
    }
    assert {d.text for n, d in enumerate(found) if n not in bad} == {"good"}
    assert list(read_ids(objects, info)) == ids


def test_an_id_that_is_not_utf8_is_refused_and_not_mended(objects):
    info = put(
        objects,
        pa.table({"document_id": invalid_utf8(b"a", b"\xed\xa0\xbd", b"c"), "text": ["x"] * 3}),
    )

    first, bad, last = read(objects, info)

    assert (first.document_id, last.document_id) == ("a", "c")
    assert (bad.document_id, bad.reason) == ("", "row 1 is not UTF-8: document_id")
    assert list(read_ids(objects, info)) == ["a", None, "c"]


def test_bytes_that_are_not_utf8_cost_their_own_document_only(objects):
    table = pa.table({"document_id": [b"a", b"b", b"\xff"], "text": [b"x", b"\xff", b"z"]})
    info = put(objects, table)

    first, *bad = read(objects, info)

    assert first.text == "x"
    assert [(e.document_id, "utf-8" in e.reason) for e in bad] == [("b", True), ("", True)]
    assert list(read_ids(objects, info)) == ["a", "b", None]


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        (pa.array([10**8, 1], pa.int32()).cast(pa.date32()), "date value out of range"),
        (pa.array([2**62, 1]).cast(pa.timestamp("us")), "date value out of range"),
        (pa.array([2**60, 1]).cast(pa.duration("s")), "Python int too large"),
    ],
    ids=["date", "timestamp", "duration"],
)
def test_a_time_beyond_all_years_costs_its_own_document_only(objects, when, reason):
    metadata = pa.StructArray.from_arrays([when], ["when"])
    info = put(objects, pa.table({"document_id": ["a", "b"], "text": ["x"] * 2, "m": metadata}))
    assert len(read(objects, info)) == 2  # a column that nobody reads disturbs nobody

    table = pa.table({"document_id": ["a", "b"], "text": ["x"] * 2, "metadata": metadata})
    bad, good = read(objects, put(objects, table))

    assert bad.document_id == "a"
    assert bad.reason.startswith(f"row 0 cannot be read: metadata ({reason}")
    assert list(good.metadata) == ["when"]


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (
            pa.StructArray.from_arrays([pa.array(["1"]), pa.array(["2"])], ["twice", "twice"]),
            "duplicate field names",
        ),
        (
            pa.StructArray.from_arrays([pa.array([1]).cast(pa.timestamp("s", "Mars/X"))], ["when"]),
            "zoneinfo",
        ),
    ],
    ids=["names", "zone"],
)
def test_metadata_that_cannot_be_values_is_not_called_broken_text(objects, metadata, reason):
    table = pa.table({"document_id": ["a"], "text": ["x"], "metadata": metadata})

    (bad,) = read(objects, put(objects, table))

    assert bad.reason.startswith("row 0 cannot be read: metadata (")
    assert reason in bad.reason


def test_blocks_that_are_no_list_cost_their_own_document_only(objects):
    table = pa.table(
        {"document_id": ["a", "b", "c"], "blocks": ['{"kind": "code"}', "{oops", "[]"]}
    )

    *bad, good = read(objects, put(objects, table))

    assert [error.reason for error in bad] == ["its blocks are not a list"] * 2
    assert good.blocks == ()

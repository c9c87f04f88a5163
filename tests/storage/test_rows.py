"""What a row may hold, whatever the server: the checks are ours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymilvus import DataType

from chunking.model import Chunk
from storage import milvus_schema
from storage.errors import CollectionMismatchError, RowRefusedError
from storage.rows import DISPLAY_FIELDS, JSON_BYTES, VARCHAR_BYTES, batches, cut, rows_of
from tests.servers.milvus import SPEC
from tests.storage.chunks import DIM, a_chunk, some_vectors

REFUSED_FIELDS = sorted(VARCHAR_BYTES.keys() - DISPLAY_FIELDS - {"run_id", "object_key"})


def rows(*chunks, vectors=None, run_id="run-1", object_key="in/a.parquet"):
    vectors = some_vectors(len(chunks)) if vectors is None else vectors
    return rows_of(
        chunks, vectors, dim=DIM, collection="docs", run_id=run_id, object_key=object_key
    )


def test_every_field_of_a_chunk_has_its_place_in_the_schema():
    schema = milvus_schema.schema_of(SPEC, analyzer="jieba", bm25=True)
    (row,) = rows(a_chunk())

    names = {field.name for field in schema.fields}
    assert names == {*Chunk.__slots__, "run_id", "object_key", "dense", "sparse"}
    assert row.keys() == names - {"sparse"}
    assert not any(field.nullable for field in schema.fields)


def test_the_schema_has_the_limits_that_rows_are_checked_against():
    schema = milvus_schema.schema_of(SPEC, analyzer="jieba", bm25=False)

    declared = {
        field.name: field.params["max_length"]
        for field in schema.fields
        if field.dtype == DataType.VARCHAR
    }
    assert declared == VARCHAR_BYTES
    assert "sparse" not in {field.name for field in schema.fields}


@pytest.mark.parametrize("name", REFUSED_FIELDS)
@pytest.mark.parametrize("letter", ["a", "汉", "🙂"])
def test_ids_and_content_are_refused_over_their_bytes_and_never_cut(name, letter):
    limit = VARCHAR_BYTES[name]
    count = limit // len(letter.encode())
    longest = letter * count + "a" * (limit - count * len(letter.encode()))

    (row,) = rows(a_chunk(**{name: longest}))
    assert row[name] == longest
    with pytest.raises(RowRefusedError) as refused:
        rows(a_chunk(**{name: longest + "a"}))
    assert refused.value.field == name
    assert f"{limit + 1} bytes" in str(refused.value)


@pytest.mark.parametrize("name", sorted(DISPLAY_FIELDS))
def test_texts_for_display_are_cut_between_two_characters(name):
    limit = VARCHAR_BYTES[name]

    (row,) = rows(a_chunk(**{name: "a" + "汉" * limit}))
    assert row[name] == "a" + "汉" * ((limit - 1) // 3)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 40))
def test_what_is_cut_fits_and_only_its_end_is_missing(text, limit):
    shorter = cut(text, limit)

    assert len(shorter.encode()) <= limit
    assert text.startswith(shorter)
    if shorter != text:
        assert len((shorter + text[len(shorter)]).encode()) > limit


def test_a_deep_heading_path_keeps_its_outermost_titles():
    (row,) = rows(a_chunk(heading_path=tuple(f"第{n}层" for n in range(70))))

    assert row["heading_path"] == [f"第{n}层" for n in range(64)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("content", "a\ud800b"),
        ("title", "\udfff"),
        ("heading_path", ("fine", "\ud800")),
        ("metadata", {"k": "\ud800"}),
        ("metadata", {"k": 2**70}),
        ("metadata", {"k": object()}),
        ("metadata", {1: "a"}),
        ("metadata", {"k": "汉" * (JSON_BYTES // 3)}),
    ],
)
def test_what_no_server_could_read_is_refused_by_the_name_of_its_field(name, value):
    with pytest.raises(RowRefusedError) as refused:
        rows(a_chunk("guide", **{name: value}))
    assert (refused.value.document_id, refused.value.field) == ("guide", name)


def test_the_largest_metadata_that_fits_is_kept():
    metadata = {"k": "a" * (JSON_BYTES - len('{"k":""}'))}

    (row,) = rows(a_chunk(metadata=metadata))
    assert row["metadata"] == metadata


def test_provenance_that_does_not_fit_is_refused():
    with pytest.raises(RowRefusedError, match="run_id"):
        rows(a_chunk(), run_id="r" * 257)


def test_vectors_are_stored_as_float32_whatever_they_came_as():
    vectors = some_vectors(2).astype(np.float64)

    first, second = rows(a_chunk(index=0), a_chunk(index=1), vectors=vectors)
    assert first["dense"].dtype == np.float32
    assert np.array_equal(second["dense"], some_vectors(2)[1])


def test_a_number_that_float32_cannot_hold_is_refused():
    vectors = some_vectors(1).astype(np.float64)
    vectors[0, 0] = 1e300

    with pytest.raises(ValueError, match="vector 0"):
        rows(a_chunk(), vectors=vectors)


def test_vectors_must_be_as_many_as_chunks_and_as_long_as_the_collections():
    with pytest.raises(ValueError, match="2 chunks"):
        rows(a_chunk(index=0), a_chunk(index=1), vectors=some_vectors(3))
    with pytest.raises(CollectionMismatchError, match=r"8 dimensions.*1024"):
        rows(a_chunk(), vectors=some_vectors(1, dim=1024))


def test_no_chunks_are_no_rows():
    assert rows() == []


@given(st.lists(st.integers(0, 30_000), max_size=30), st.integers(2**10, 2**16))
def test_requests_hold_all_rows_in_order_and_as_many_as_fit(sizes, request_bytes):
    made = rows(*(a_chunk(index=i, content="汉" * (n // 3)) for i, n in enumerate(sizes)))

    requests = list(batches(made, request_bytes))
    assert [row for request in requests for row in request] == made
    sent = [sum(len(row["content"].encode()) for row in request) for request in requests]
    for request, size in zip(requests, sent, strict=True):
        assert len(request) == 1 or size <= request_bytes

"""One contract for the rows of every vector store: in memory, Milvus Lite, and a real Milvus."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import milvus_store
from storage.errors import (
    CollectionMismatchError,
    LeaseError,
    RowRefusedError,
)
from tests.storage.chunks import a_chunk, ids_of, nearest, put, some_vectors, unused_document

HOSTILE_IDS = [
    'O\'Neil "x"',
    "C:\\报告\\新",
    "a\nb",
    'x" or document_id != "',
    "100%_a",
    "end\\",
    "\\n",
    "\t\r\x00\x7f\u2028",
    "",
]


# Writing


def test_a_chunk_written_twice_is_one_row(store):
    document = unused_document()
    chunks = [a_chunk(document, i) for i in range(3)]
    put(store, chunks)
    put(store, chunks)

    assert ids_of(store, document) == sorted(c.chunk_id for c in chunks)


def test_the_later_of_two_writes_stays(store):
    old = a_chunk(unused_document())
    new = replace(old, title="New", payload_hash="1" * 64)
    put(store, [old])
    put(store, [new])

    (key,) = store.keys_of([old.document_id])
    assert key.payload_hash == new.payload_hash


def test_an_id_twice_in_one_call_is_refused_and_nothing_is_written(store):
    chunk = a_chunk(unused_document())

    with pytest.raises(ValueError, match=chunk.chunk_id):
        put(store, [chunk, replace(chunk, title="Other")])
    assert ids_of(store, chunk.document_id) == []


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_a_vector_that_no_search_could_use_is_refused_and_nothing_is_written(store, bad):
    document = unused_document()
    chunks = [a_chunk(document, i) for i in range(2)]
    vectors = some_vectors(2)
    vectors[1] = bad

    with pytest.raises(ValueError, match="vector 1"):
        put(store, chunks, vectors)
    assert ids_of(store, document) == []


def test_vectors_of_another_length_are_refused_with_both_numbers(store):
    chunk = a_chunk(unused_document())

    with pytest.raises(CollectionMismatchError, match=r"8 dimensions.*16"):
        put(store, [chunk], some_vectors(1, dim=16))
    assert ids_of(store, chunk.document_id) == []


def test_content_is_measured_in_bytes(store):
    fits = a_chunk(unused_document(), content="汉" * 21_845)
    too_long = a_chunk(unused_document(), content="汉" * 21_846)
    put(store, [fits])

    with pytest.raises(RowRefusedError, match=r"content .*65538 bytes.*65535"):
        put(store, [too_long])
    assert ids_of(store, fits.document_id) == [fits.chunk_id]
    assert ids_of(store, too_long.document_id) == []


@pytest.mark.server
def test_a_batch_larger_than_a_message_may_be_goes_in_several(milvus_235_backend):
    store, document = milvus_235_backend.store(), unused_document()
    chunks = [a_chunk(document, i, content=f"{i} " + "x" * 65_000) for i in range(1_050)]
    put(store, chunks)  # 68 MB; the server refuses 64 MiB

    assert len(store.keys_of([document])) == 1_050


# Reading


def test_what_a_source_does_not_have_is_stored_as_its_stand_in(store):
    document = unused_document()
    bare = a_chunk(document, 0)
    placed = a_chunk(
        document, 1, page=3, bbox={"x0": 0.5, "y0": 1.0, "x1": 2.0, "y1": 3.5}, ts_start=1.5
    )
    vectors = put(store, [bare, placed])

    rows = {hit.row["chunk_id"]: hit.row for hit in nearest(store, vectors[0], document)}
    assert (rows[bare.chunk_id]["page"], rows[bare.chunk_id]["bbox"]) == (0, {})
    assert rows[bare.chunk_id]["ts_start"] == -1.0
    assert (rows[placed.chunk_id]["page"], rows[placed.chunk_id]["bbox"]) == (3, placed.bbox)


def test_a_row_comes_back_as_the_chunk_was_with_its_provenance(store):
    chunk = a_chunk(
        unused_document(),
        content='一段\n"quoted" \\ text 🙂',
        heading_path=("指南", "Deep “heading”"),
        metadata={"tags": ["a", "汉"], "nested": {"n": 1.5, "none": None}, 'k"': True},
        source="s3://corpus/指南.md",
        speaker="王",
    )
    (vector,) = put(store, [chunk])

    (hit,) = nearest(store, vector, chunk.document_id)
    assert hit.score == pytest.approx(1.0, abs=1e-5)
    expected = {name: getattr(chunk, name) for name in chunk.__slots__}
    expected |= {"heading_path": [*chunk.heading_path], "run_id": "run-1"}
    assert hit.row == expected | {"object_key": "in/part-0.parquet"}


def test_long_texts_for_display_are_cut_between_two_characters(store):
    chunk = a_chunk(
        unused_document(), source="汉" * 3_000, title="题" * 5_000, heading_path=("节" * 5_000,)
    )
    (vector,) = put(store, [chunk])

    (hit,) = nearest(store, vector, chunk.document_id)
    assert hit.row["source"] == "汉" * (4_096 // 3)
    assert hit.row["title"] == "题" * (8_192 // 3)
    assert hit.row["heading_path"] == ["节" * (8_192 // 3)]


def test_rows_are_counted_right_at_once_after_each_write(store):
    document = unused_document()
    chunks = [a_chunk(document, i) for i in range(500)]
    counts = []
    for _ in range(2):
        put(store, chunks)
        counts.append(len(store.keys_of([document])))
    store.delete([chunk.chunk_id for chunk in chunks[:100]])
    counts.append(len(store.keys_of([document])))

    assert counts == [500, 500, 400]


def test_keys_are_those_of_the_documents_asked_for_and_no_others(store):
    documents = [unused_document() for _ in range(3)]
    chunks = [a_chunk(document, i) for document in documents for i in range(2)]
    put(store, chunks)

    keys = store.keys_of([*documents[:2], unused_document()])
    assert [key.chunk_id for key in keys] == sorted(c.chunk_id for c in chunks[:4])
    assert {key.content_hash for key in keys} == {c.content_hash for c in chunks[:4]}
    assert store.keys_of([]) == []


def test_a_document_with_more_rows_than_one_answer_holds_is_complete(store, monkeypatch):
    monkeypatch.setattr(milvus_store, "_MAX_ROWS", 40)
    document = unused_document()
    chunks = [a_chunk(document, i) for i in range(100)]
    put(store, chunks)

    assert ids_of(store, document) == sorted(c.chunk_id for c in chunks)


def test_a_vector_is_found_by_the_text_that_it_is_of(store):
    document = unused_document()
    chunks = [a_chunk(document, i) for i in range(3)]
    vectors = put(store, chunks)

    found = store.vectors_of([chunks[0].content_hash, chunks[2].content_hash, "f" * 64])
    assert found.keys() == {chunks[0].content_hash, chunks[2].content_hash}
    assert np.allclose(found[chunks[2].content_hash], vectors[2], atol=1e-6)
    assert found[chunks[2].content_hash].dtype == np.float32
    assert store.vectors_of([]) == {}


def test_rows_named_by_id_come_back_whole_and_others_do_not(store, monkeypatch):
    monkeypatch.setattr(milvus_store, "_ROWS_PER_READ", 2)
    chunks = [a_chunk(unused_document(), page=number) for number in range(5)]
    put(store, chunks)
    wanted = sorted(chunks[1:], key=lambda chunk: chunk.chunk_id)

    rows = store.rows_at([*(chunk.chunk_id for chunk in wanted), unused_document()])

    assert [(row["chunk_id"], row["page"], row["content"]) for row in rows] == [
        (chunk.chunk_id, chunk.page, chunk.content) for chunk in wanted
    ]
    assert [list(row["heading_path"]) for row in rows] == [["Guide"]] * 4
    assert "dense" not in rows[0]


def test_a_text_that_stands_in_very_many_rows_does_not_hide_another(store, monkeypatch):
    monkeypatch.setattr(milvus_store, "_MAX_ROWS", 50)  # rows of one answer
    document = unused_document()
    common = [a_chunk(document, i, content=f"同上。{document}") for i in range(300)]
    rare = [a_chunk(document, i + 300) for i in range(5)]
    put(store, common + rare)

    wanted = {chunk.content_hash for chunk in common + rare}
    assert store.vectors_of(sorted(wanted)).keys() == wanted


def test_a_scan_gives_every_row_once_as_of_now(backend):
    store = backend.database.open(backend.new_collection())
    chunks = [a_chunk(unused_document(), i) for i in range(50)]
    put(store, chunks)
    first = [key.chunk_id for key in store.scan()]
    store.delete([chunk.chunk_id for chunk in chunks[:10]])
    second = [key.chunk_id for key in store.scan()]

    assert sorted(first) == sorted(chunk.chunk_id for chunk in chunks)
    assert sorted(second) == sorted(chunk.chunk_id for chunk in chunks[10:])


@pytest.mark.server
def test_more_rows_than_one_answer_may_hold_are_read_in_bounded_memory(
    milvus_lite_backend, monkeypatch
):
    store = milvus_lite_backend.database.open(milvus_lite_backend.new_collection())
    chunks = [a_chunk("long", i, content=f"{i}") for i in range(16_600)]
    put(store, chunks)

    assert ids_of(store, "long") == sorted(chunk.chunk_id for chunk in chunks)
    monkeypatch.setattr(milvus_store, "_MAX_ROWS", 5_000)
    tracemalloc.start()
    scanned = sum(1 for _ in store.scan())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert scanned == 16_600
    assert peak < 12e6  # a page of 5,000 takes 8 MB, all rows 25 MB


# Deleting, and ids that are no plain words


def test_only_the_rows_named_are_deleted(store):
    document = unused_document()
    chunks = [a_chunk(document, i) for i in range(4)]
    put(store, chunks)
    store.delete([chunks[1].chunk_id, "no-such-id"])
    store.delete([])

    assert ids_of(store, document) == sorted(c.chunk_id for c in chunks if c != chunks[1])


def test_who_may_no_longer_write_neither_writes_nor_deletes(store):
    document = unused_document()
    chunks = [a_chunk(document, i) for i in range(3)]
    put(store, chunks[:2])

    def check():
        raise LeaseError(store.collection, "another run", "Ours is over.")

    with pytest.raises(LeaseError):
        store.upsert(chunks, some_vectors(3), run_id="r", object_key="o", check=check)
    with pytest.raises(LeaseError):
        store.delete([chunks[0].chunk_id], check=check)

    assert ids_of(store, document) == sorted(c.chunk_id for c in chunks[:2])


def test_ids_with_quotes_and_backslashes_find_and_delete_their_own_rows_only(store):
    tail = unused_document()  # keeps the ids of this test apart from others'
    others = [a_chunk(f"other-{i}-{tail}", i) for i in range(100)]
    hostile = [a_chunk(f"{tail}{identifier}", 0) for identifier in HOSTILE_IDS]
    put(store, others + hostile)

    for chunk in hostile:
        assert ids_of(store, chunk.document_id) == [chunk.chunk_id]
    for chunk in hostile:
        store.delete([key.chunk_id for key in store.keys_of([chunk.document_id])])
    assert store.keys_of([chunk.document_id for chunk in hostile]) == []
    assert len(store.keys_of([chunk.document_id for chunk in others])) == 100


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
        | st.text('\\"n\n%', max_size=6),
        min_size=50,
        max_size=100,
        unique=True,
    )
)
def test_any_text_can_be_the_id_of_a_document(store, identifiers):
    tail = unused_document()
    chunks = [a_chunk(f"{identifier}{tail}", 0) for identifier in identifiers]
    put(store, chunks)

    keys = store.keys_of([chunk.document_id for chunk in chunks])
    assert {k.chunk_id: k.document_id for k in keys} == {c.chunk_id: c.document_id for c in chunks}

"""One contract for the search of every vector store."""

import numpy as np
import pytest

from storage.errors import (
    CollectionMismatchError,
    SettingError,
)
from tests.storage.chunks import a_chunk, nearest, put, some_vectors, unused_document


def test_the_nearest_rows_come_first(store):
    document = unused_document()
    chunks = [a_chunk(document, i) for i in range(20)]
    vectors = put(store, chunks)

    hits = nearest(store, vectors[4], document, top_k=5)
    assert hits[0].row["chunk_id"] == chunks[4].chunk_id
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    expected = np.sort(vectors @ vectors[4])[::-1][:5]
    assert np.allclose([hit.score for hit in hits], expected, atol=1e-5)


def test_a_filter_expression_narrows_the_search(store):
    document = unused_document()
    chunks = [
        a_chunk(document, 0, kind="table", page=1, heading_path=("甲", "B")),
        a_chunk(document, 1, kind="table", page=2, metadata={"lang": "zh"}),
    ]
    (vector, _) = put(store, chunks)

    def found(condition):
        expression = f'document_id == "{document}" and {condition}'
        hits = store.search(
            text="", vector=vector, mode="dense", top_k=9, filter_expression=expression
        )
        return [hit.row["chunk_index"] for hit in hits]

    assert found('kind == "table" and page > 1') == [1]
    assert found('array_contains(heading_path, "甲")') == [0]
    assert found('metadata["lang"] == "zh"') == [1]
    assert found("page in [7, 8]") == []


@pytest.mark.parametrize("expression", ["page ===== 1", "no_such_field == 1"])
def test_a_filter_that_cannot_be_read_is_a_setting_to_correct(store, expression):
    (vector,) = put(store, [a_chunk(unused_document())])

    with pytest.raises(SettingError, match="filter"):
        store.search(text="", vector=vector, mode="dense", top_k=1, filter_expression=expression)


def test_a_query_vector_of_another_length_is_refused(store):
    with pytest.raises(CollectionMismatchError, match="8 dimensions"):
        nearest(store, some_vectors(1, dim=5)[0], "any")


@pytest.mark.parametrize("query", ["KITELIFT", "向量数据库"])
@pytest.mark.parametrize("mode", ["sparse", "hybrid"])
def test_words_are_found_in_both_languages_where_the_server_can(backend, store, mode, query):
    document = unused_document()
    chunks = [
        a_chunk(document, 0, content="Nothing to see here."),
        a_chunk(document, 1, content="Kitelift 把文档写入向量数据库。"),
        a_chunk(document, 2, content="天气很好。"),
    ]
    vectors = put(store, chunks)

    def search():
        return store.search(
            text=query,
            vector=None if mode == "sparse" else vectors[1],
            mode=mode,
            top_k=3,
            filter_expression=f'document_id == "{document}"',
        )

    if not backend.database.has_sparse:
        with pytest.raises(SettingError, match="BM25"):
            search()
        return
    hits = search()
    assert hits[0].row["chunk_index"] == 1
    assert hits[0].score > 0
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)

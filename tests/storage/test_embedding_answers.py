import base64
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.embedding_answers import (
    BadVectorError,
    MalformedAnswerError,
    read_answer,
    unit_vector,
)


def body(*items, **rest):
    return json.dumps(
        {"data": [dict(zip(("index", "embedding"), i, strict=True)) for i in items]} | rest
    )


def test_vectors_are_placed_by_index_and_brought_to_length_1():
    answer = read_answer(body((1, [0, 2]), (0, [3, 4])).encode(), inputs=2, dim=2)

    assert answer.refused == {}
    np.testing.assert_allclose(answer.vectors[0], [0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(answer.vectors[1], [0.0, 1.0], rtol=1e-6)
    assert answer.vectors[0].dtype == np.float32


def test_base64_is_understood():
    raw = base64.b64encode(np.array([3, 4], dtype="<f4").tobytes()).decode()

    answer = read_answer(body((0, raw)).encode(), inputs=1, dim=2)

    np.testing.assert_allclose(answer.vectors[0], [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ([], "empty"),
        ([0.0, 0.0], "zeros"),
        ([-0.0, 0.0], "zeros"),
        ([math.nan, 1.0], "NaN"),
        ([None, 1.0], "null"),
        ([math.inf, 1.0], "infinite"),
        ([1.0], "1 dimensions instead of 2"),
        ([[1.0, 2.0]], "no vector"),
        ([[1.0], []], "no vector"),
        (["a", "b"], "no vector"),
        ({"a": 1}, "no vector"),
        (None, "no vector"),
        ("???", "no vector"),
        ("AAA=", "no vector"),
    ],
)
def test_a_vector_that_must_not_be_stored_says_why(value, complaint):
    with pytest.raises(BadVectorError, match=complaint):
        unit_vector(value, 2)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1.0, 1e200, 1e308])
def test_neither_huge_nor_tiny_numbers_lose_the_direction(scale):
    np.testing.assert_allclose(unit_vector([scale, 0.0, scale], 3), [0.5**0.5, 0, 0.5**0.5], 1e-4)


def test_a_missing_and_a_doubled_vector_spoil_their_own_text_only():
    answer = read_answer(body((0, [1, 0]), (2, [1, 0]), (2, [0, 1])).encode(), inputs=3, dim=2)

    assert list(answer.vectors) == [0]
    assert answer.refused == {
        1: "the service answered with 0 vectors for it",
        2: "the service answered with 2 vectors for it",
    }


@pytest.mark.parametrize("index", [-1, 2, "0", None, 0.0])
def test_a_vector_for_no_text_is_given_to_none(index):
    answer = read_answer(body((index, [1, 0]), (1, [0, 1])).encode(), inputs=2, dim=2)

    assert list(answer.vectors) == [1]


@pytest.mark.parametrize(
    "answer",
    [b"", b'{"data": [{"index"', b"<html>", b"[]", b"{}", b'{"data": []}', b"\xff", b"null"],
)
def test_what_is_no_answer_at_all_is_told_apart(answer):
    with pytest.raises(MalformedAnswerError):
        read_answer(answer, inputs=1, dim=2)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"total_tokens": 7, "prompt_tokens": 6}, 7),
        ({"prompt_tokens": 6}, 6),
        ({}, None),
        (None, None),
        ({"total_tokens": "7"}, None),
    ],
)
def test_tokens_are_those_of_the_service_where_it_counts(usage, tokens):
    assert read_answer(body((0, [1, 0]), usage=usage).encode(), 1, 2).tokens == tokens


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9))
def test_every_finite_vector_but_zero_gets_length_1(numbers):
    if not any(numbers):
        return
    assert np.linalg.norm(unit_vector(numbers, len(numbers))) == pytest.approx(1, abs=1e-6)

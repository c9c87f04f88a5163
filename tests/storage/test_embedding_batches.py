import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.embedding_batches import BatchLimits, plan_batches

LIMITS = BatchLimits(input_tokens=10, request_tokens=20, request_inputs=3)


def places(batches):
    return [batch.places for batch in batches]


def test_a_request_is_closed_by_inputs_or_by_tokens():
    by_inputs, _ = plan_batches(["a"] * 7, LIMITS, len)
    by_tokens, _ = plan_batches(["a" * 10, "b" * 10, "c"], LIMITS, len)

    assert places(by_inputs) == [(0, 1, 2), (3, 4, 5), (6,)]
    assert places(by_tokens) == [(0, 1), (2,)]
    assert [batch.tokens for batch in by_tokens] == [20, 1]


def test_a_text_over_the_limit_is_refused_alone_with_both_numbers():
    batches, refused = plan_batches(["a", "b" * 11, "c"], LIMITS, len)

    assert places(batches) == [(0, 2)]
    assert refused == {1: "it has 11 tokens; the model takes 10"}


def test_half_of_a_surrogate_pair_is_refused_before_it_can_break_the_request():
    batches, refused = plan_batches(["\ud83d", "\U0001f600"], LIMITS, len)

    assert places(batches) == [(1,)]
    assert "surrogate" in refused[0]


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000"])
def test_a_blank_text_is_the_callers_fault(blank):
    with pytest.raises(ValueError, match="text 1 of 2 is blank"):
        plan_batches(["a", blank], LIMITS, len)


@given(st.lists(st.text("ab文", min_size=1, max_size=14)))
def test_every_text_is_in_one_request_in_order_or_refused(texts):
    batches, refused = plan_batches(texts, LIMITS, len)

    sent = [place for batch in batches for place in batch.places]
    assert sent == sorted(sent)
    assert sorted([*sent, *refused]) == list(range(len(texts)))
    for batch in batches:
        assert 0 < len(batch.places) <= LIMITS.request_inputs
        assert batch.token_counts == tuple(len(texts[place]) for place in batch.places)
        assert batch.tokens <= LIMITS.request_tokens


@given(st.integers(2, 40))
def test_both_halves_together_are_the_batch(size):
    (batch,), _ = plan_batches(
        ["ab"] * size,
        BatchLimits(input_tokens=2, request_tokens=100, request_inputs=100),
        len,
    )

    first, second = batch.halves()

    assert first.places + second.places == batch.places
    assert first.tokens + second.tokens == batch.tokens
    assert first.places
    assert second.places

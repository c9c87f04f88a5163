"""Small to big, by hand: scores of parents, the context around hits, what fits a budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunking.budget import token_counter
from jobs.searching.parents import Child, context_of, pack, rank_parents, widened

TOKENS = token_counter("cl100k_base")


def child(name, parent, score):
    return Child(chunk_id=name, parent_id=parent, score=score)


def test_a_parent_is_scored_by_its_best_child_and_the_share_that_was_hit():
    hits = [child("a1", "a", 0.5), child("b1", "b", 0.6), child("a2", "a", 0.9)]

    first, second = rank_parents(hits, {"a": 4, "b": 1})

    assert (first.parent_id, second.parent_id) == ("a", "b")
    assert first.score == pytest.approx(0.7 * 0.9 + 0.3 * 2 / 4)
    assert second.score == pytest.approx(0.7 * 0.6 + 0.3 * 1)
    assert [each.chunk_id for each in first.children] == ["a2", "a1"]


def test_parents_of_equal_score_are_in_the_order_of_their_ids():
    hits = [child("x", "b", 0.5), child("y", "a", 0.5)]

    assert [parent.parent_id for parent in rank_parents(hits, {"a": 1, "b": 1})] == ["a", "b"]


def test_spans_are_widened_and_joined_where_little_lies_between():
    assert widened([(500, 510)], 2000) == [(320, 690)]
    assert widened([(10, 20), (1990, 1995)], 2000) == [(0, 200), (1810, 2000)]
    assert widened([(500, 510), (919, 930)], 2000) == [(320, 1110)]  # 49 characters between
    assert widened([(500, 510), (920, 930)], 2000) == [(320, 690), (740, 1110)]  # 50
    assert widened([(500, 900), (510, 520)], 2000) == [(320, 1080)]


def test_a_context_shows_where_text_was_left_out_under_the_last_three_breadcrumbs():
    text = "a" * 400 + "HIT" + "b" * 1000 + "HIT" + "c" * 400

    context = context_of(text, [(400, 403), (1403, 1406)], ["1", "2", "3", "4"])

    a, b = "a" * 180 + "HIT" + "b" * 180, "b" * 180 + "HIT" + "c" * 180
    assert context == f"[2 > 3 > 4]\n… {a} …\n… {b} …"


def test_a_context_that_is_whole_has_no_gap():
    assert context_of("All of it.", [], []) == "All of it."
    assert context_of("All of it.", [(0, 3)], ["A"]) == "[A]\nAll of it."


def test_contexts_are_packed_in_order_and_a_shorter_one_may_take_the_place():
    contexts = ["one " * 50, "two " * 80, "three " * 10]
    sizes = [TOKENS.count(each) for each in contexts]

    packed = pack(contexts, sizes[0] + sizes[2], TOKENS)

    assert packed == [contexts[0], "", contexts[2]]


@given(st.lists(st.text("ab 汉字\n", min_size=1), min_size=1, max_size=4), st.integers(1, 60))
def test_no_packing_exceeds_its_budget_and_the_best_is_never_lost(contexts, budget):
    packed = pack(contexts, budget, TOKENS)

    assert sum(map(TOKENS.count, packed)) <= budget
    if TOKENS.count(contexts[0]) <= budget:
        assert packed[0] == contexts[0]
    elif budget > 5:
        assert packed[0]
        assert contexts[0].startswith(packed[0].removesuffix(" …"))

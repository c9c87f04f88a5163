"""Which row counts for a document, and which documents vanished."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.settle import settle

SOURCE = {
    "a.parquet": ["一", "二", "一"],
    "b.parquet": ["三", "二"],
    "c.parquet": ["三"],
}


def settled(source, earlier=(), buckets=1):
    return settle(
        sorted(source, key=str.encode),
        lambda key: enumerate(source[key]),
        lambda: iter(earlier),
        buckets,
    )


@pytest.mark.parametrize("buckets", [1, 3])
def test_the_first_row_in_order_of_key_and_row_is_taken(buckets):
    found = settled(SOURCE, buckets=buckets)

    assert found.losers == {"a.parquet": (2,), "b.parquet": (1,), "c.parquet": (0,)}
    assert found.contested == {
        "a.parquet": ((0, "一"), (1, "二"), (2, "一")),
        "b.parquet": ((0, "三"), (1, "二")),
        "c.parquet": ((0, "三"),),
    }
    assert found.winners == {
        "一": ("a.parquet", 0),
        "二": ("a.parquet", 1),
        "三": ("b.parquet", 0),
    }


def test_a_document_has_vanished_only_when_no_object_has_it():
    found = settled(SOURCE, earlier=["一", "四", "三", "五", "四"])

    assert found.vanished == ("五", "四")


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(st.text(max_size=2), max_size=8)),
    st.lists(st.text(max_size=2)),
    st.integers(2, 7),
)
def test_the_number_of_buckets_changes_nothing(source, earlier, buckets):
    assert settled(source, earlier, buckets) == settled(source, earlier, 1)


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.text(max_size=2), max_size=8)))
def test_every_document_has_exactly_one_winner(source):
    losers = settled(source).losers
    winners = [
        document_id
        for key, ids in source.items()
        for row, document_id in enumerate(ids)
        if row not in losers.get(key, ())
    ]

    assert sorted(winners) == sorted({i for ids in source.values() for i in ids})

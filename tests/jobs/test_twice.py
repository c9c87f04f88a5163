"""One document in several rows or objects."""

import pytest

from tests.jobs.world import manual

pytestmark = pytest.mark.server

CORPUS = {f"{n:02d}.md": manual(f"手册 {n}") for n in range(10)}


def test_the_same_document_twice_is_settled_by_order_and_named(world):
    world.put("a.parquet", {"twice": "The first text.", "once": "一次。"})
    world.put("b.parquet", {"twice": "Another text.", "same": "同"})
    world.put("c.parquet", {"same": "同"})

    report = world.run()

    assert report["documents"]["read"] == 3
    assert report["duplicates"] == {"dropped": 2, "equal": 1}
    (letter,) = report["dead_letters"]
    assert letter["document_id"] == "twice"
    assert letter["object_key"] == "b.parquet"
    assert "row 0 of a.parquet" in letter["reason"]
    with world.store() as store:
        hits = store.search(text="text", vector=None, mode="sparse", top_k=5)
    assert [hit.row["content"].split("\n")[-1] for hit in hits] == ["The first text."]


def test_a_row_that_repeats_one_of_an_unchanged_object_is_no_conflict(world):
    world.put("a.parquet", {"twice": "The same text.", "once": "一次。"})
    world.run()
    world.put("b.parquet", {"twice": "The same text."})

    report = world.run()

    assert report["dead_letters"] == []
    assert report["duplicates"] == {"dropped": 1, "equal": 1}
    assert report["outcome"] == world.run()["outcome"] == "succeeded"


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("scope", [{"prefix": "b/"}, {"only": frozenset(["b/0.parquet"])}])
def test_a_row_that_repeats_one_outside_the_scope_is_told_apart_from_a_conflict(
    world, known, scope
):
    world.put("a/0.parquet", {"same": "同样的文字。", "other": "One thing.", "一": "一次。"})
    if known:
        world.run()
    world.put("b/0.parquet", {"same": "同样的文字。", "other": "Another thing.", "b": "Own."})

    report = world.run(**scope)

    assert report["duplicates"] == {"dropped": 2, "equal": 1}
    (letter,) = report["dead_letters"]
    assert (letter["document_id"], letter["stage"]) == ("other", "duplicate")
    assert "row 1 of a/0.parquet" in letter["reason"]
    assert report["documents"]["stored"] == 1
    assert set(world.documents()) == ({"same", "other", "一", "b"} if known else {"b"})


def test_when_the_first_of_two_goes_the_second_takes_its_place(world):
    world.put("a.parquet", {**CORPUS, "twice": "The first text."})
    world.put("b.parquet", {"twice": "Another text."})
    world.run()
    world.put("a.parquet", CORPUS)

    report = world.run()

    assert report["outcome"] == "succeeded"
    assert report["documents"]["deleted"] == 0
    assert world.documents()["twice"] == 1
    with world.store() as store:
        (hit, *_) = store.search(text="Another", vector=None, mode="sparse", top_k=1)
    assert "Another text." in hit.row["content"]

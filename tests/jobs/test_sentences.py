"""Sentences are embedded many at once, held in bounded memory, and paid for once."""

from collections import Counter

import pytest
from click.testing import CliRunner

from chunking.model import Document
from jobs import sentences, worker
from jobs.chunkers import open_chunker
from jobs.cli import main
from jobs.config import ChunkingSettings
from jobs.estimate import estimate
from jobs.plan import Scope
from jobs.progress import Silence
from jobs.report_page import report_page
from jobs.sentences import SentenceVectors
from storage.errors import StoreUnavailableError
from storage.local_objects import LocalObjectStore
from storage.sentence_vectors import SentenceStore
from tests.jobs.vector_model import Model
from tests.jobs.world import manual

SEMANTIC = ChunkingSettings(strategy="semantic", min_chars=40, max_chars=400, overlap=0)
ROW_BYTES = 16


@pytest.fixture
def shelf(tmp_path):
    store = SentenceStore(LocalObjectStore(tmp_path), "docs/sentences/model/")
    return store.shelf("a.parquet", run_id="r", shard=0, attempt=1)


def vectors_of(model, held=100, **options):
    return SentenceVectors(lambda: model, held_bytes=held * ROW_BYTES, **options)


def test_what_one_process_paid_for_another_finds(shelf):
    model, texts = Model(), ["a", "bee", "see", "的"]
    first, second = vectors_of(model), vectors_of(model)

    first.fetch(texts, shelf)
    second.fetch([*texts, "new"], shelf)

    assert (first(texts) == second(texts)).all()
    assert set(model.paid.values()) == {1}
    assert (first.take_work().sentences, first.take_work().sentences) == (4, 0)
    work = second.take_work()
    assert (work.sentences, work.sentence_tokens, work.sentences_reused) == (1, 3, 4)
    assert (work.tokens, work.texts, work.requests) == (0, 0, 1)


def test_what_was_embedded_before_a_fault_is_kept(shelf, monkeypatch):
    monkeypatch.setattr(sentences, "KEPT_AT_ONCE", 2)
    model = Model()
    embed = model.embed

    def dies_at_the_third_call(texts):
        if len(model.calls) == 2:
            raise StoreUnavailableError("the embedding model", "here", "gone")
        return embed(texts)

    model.embed = dies_at_the_third_call
    with pytest.raises(StoreUnavailableError):
        vectors_of(model).fetch(list("abcdefg"), shelf)
    model.embed = embed
    vectors_of(model).fetch(list("abcdefg"), shelf)

    assert model.calls == [["a", "b"], ["c", "d"], ["e", "f"], ["g"]]


def test_memory_is_bounded_and_what_left_it_is_read_again_not_paid_again(shelf):
    model = Model()
    vectors = vectors_of(model, held=3)

    for start in range(0, 12, 3):
        vectors.fetch([f"s{n}" for n in range(start, start + 3)], shelf)
        assert len(vectors._held) == 3
    vectors.fetch(["s0", "s1"], shelf)

    assert (vectors(["s1", "s0"]) == Model().embed(["s1", "s0"]).vectors).all()
    assert set(model.paid.values()) == {1}


def test_a_document_that_does_not_fit_is_held_whole_while_it_is_cut(shelf):
    model = Model()
    vectors = vectors_of(model, held=2)
    texts = [f"s{n}" for n in range(9)]
    vectors.fetch(texts, shelf)

    assert vectors(texts).shape == (9, 4)
    assert set(model.paid.values()) == {1}
    vectors.fetch(["other"], shelf)
    assert len(vectors._held) == 2


def test_documents_come_in_batches_whose_sentences_fit_one_at_least():
    documents = [
        Document(document_id=f"d{n}", markdown=" ".join(f"Sentence {n} {at}." for at in range(5)))
        for n in range(5)
    ]
    chunker = open_chunker(SEMANTIC, Model)
    small = type(chunker)(chunker.inner, vectors_of(Model(), held=11))
    tiny = type(chunker)(chunker.inner, vectors_of(Model(), held=1))

    assert [len(batch) for batch, _ in chunker.batches(documents)] == [5]
    assert [len(batch) for batch, _ in small.batches(documents)] == [2, 2, 1]
    assert [len(batch) for batch, _ in tiny.batches(documents)] == [1] * 5
    assert [len(found) for _, found in small.batches(documents)] == [10, 10, 5]
    assert list(chunker.batches([])) == []


def test_a_dry_one_embeds_nothing_counts_what_it_would_and_reads_what_is_kept(shelf):
    model = Model()
    vectors_of(model).fetch(["kept"], shelf)
    dry = vectors_of(model, is_dry=True)
    dry.fetch(["kept", "not kept"], shelf)
    given = dry(["not kept", "kept"])

    assert model.calls == [["kept"]]
    assert not given[0].any()
    assert given[1].any()
    work = dry.take_work()
    assert (work.sentences, work.sentence_tokens, work.sentences_reused) == (1, 2, 1)
    assert not vectors_of(model, is_dry=True)(["none at all"]).any()


@pytest.mark.server
class TestInARun:
    @pytest.fixture
    def world(self, world):
        world.settings["chunking"] = dict(SEMANTIC)
        world.put("a.parquet", {f"{n}.md": manual(f"手册 {n}") for n in range(3)})
        world.put("b.parquet", {"b.md": manual("又一本")})
        return world

    def test_a_kill_after_chunking_costs_no_sentence_and_shifts_no_cut(self, world):
        killed = world.command(
            "run", KITELIFT_KILL_AT="chunked", KITELIFT_KILL_ONCE=str(world.folder / "killed")
        )
        assert killed.returncode == -9, killed.stderr
        paid = Counter(world.server.paid_texts())
        assert len(paid) > 20

        report = world.run()

        assert report["outcome"] == "succeeded"
        assert max(Counter(world.server.paid_texts()).values()) == 1
        assert report["embedding"]["sentences_reused"] == len(paid)
        assert 0 < report["embedding"]["sentences"] < len(paid)  # of the other object

    def test_a_run_of_all_documents_pays_for_no_sentence(self, world):
        first = world.run()
        rows = world.rows()
        world.server.forget()
        worker._opened.clear()  # as in another process

        again = world.run(full=True)

        assert world.server.paid_texts() == []
        assert again["embedding"]["sentences"] == again["embedding"]["sentence_tokens"] == 0
        assert again["embedding"]["sentences_reused"] == first["embedding"]["sentences"]
        assert world.rows() == rows

    def test_an_edited_document_pays_for_its_new_sentences_alone(self, world):
        world.run()
        world.server.forget()
        worker._opened.clear()
        world.put("b.parquet", {"b.md": manual("又一本") + "\n\nA new sentence. 新的一句。\n"})

        report = world.run()

        paid = world.server.paid_texts()
        assert {"A new sentence.", "新的一句。"} == {t for t in paid if not t.startswith("章节")}
        assert report["embedding"]["sentences"] == 2

    def test_tokens_of_sentences_are_told_apart_and_both_count(self, world):
        world.settings["embedding"] = {"cost_per_million_tokens": 1.0}
        report = world.run()

        told = report["embedding"]
        calls = [call for call in world.server.calls() if len(call.texts) > 1]
        to_cut_by = [call for call in calls if not call.texts[0].startswith("章节")]
        assert told["sentence_tokens"] == sum(call.tokens for call in to_cut_by) > 0
        assert told["tokens"] == sum(call.tokens for call in calls) - told["sentence_tokens"] > 0
        assert told["cost"] == pytest.approx((told["tokens"] + told["sentence_tokens"]) / 1e6)
        assert report["stage_seconds"]["sentences"] > 0
        assert f"{told['sentence_tokens']} tokens beside" in asked(world, "report")
        assert f"{told['sentences']} sentences to cut by" in report_page(report, None)

    def test_a_cap_on_tokens_counts_them(self, world):
        for key in "abcd":
            world.put(f"{key}.parquet", {f"{key}.md": manual(f"手册 {key}")})
        whole = estimate(world.config, Scope(), Silence())["embedding"]
        half = whole["tokens"] // 2
        world.settings["limits"] = {"max_tokens": half + whole["sentence_tokens"] // 4}

        report = world.run()  # two shards are at work when the first is done

        assert "limits.max_tokens" in report["reason"]
        assert report["shards"]["committed"] == 3

    def test_a_plan_pays_for_none_writes_nothing_and_counts_them(self, world):
        told = asked(world, "plan")

        assert world.server.paid_texts() == []
        assert not list((world.folder / "state").rglob("*.parquet"))
        report = world.run()
        assert f"to cut by  {report['embedding']['sentences']} sentences" in told
        assert "to cut by" not in asked(world, "plan", "--full")

    def test_chunk_tells_what_it_embedded(self, world):
        file = world.folder / "guide.md"
        file.write_text(manual("手册"), encoding="utf-8")
        told = asked(world, "chunk", str(file))

        texts = [call for call in world.server.calls() if len(call.texts) > 1]
        paid = sum(call.tokens for call in texts)
        assert len(texts) == 1
        assert f"note: 36 sentences embedded to cut by, {paid} tokens" in told

    def test_gc_drops_those_of_old_runs(self, world):
        world.run(run_id="first")
        world.put("b.parquet", {"b.md": manual("又一本", sections=4)})
        world.run(run_id="second")
        assert {run for run, _ in world.ledger.sentence_keys()} == {"first", "second"}

        dropped = asked(world, "gc", "--keep-runs", "1")

        assert "Dropped" in dropped
        assert {run for run, _ in world.ledger.sentence_keys()} == {"second"}
        assert asked(world, "verify").endswith("Clean.\n")


def asked(world, *words):
    done = CliRunner().invoke(main, [*words, "-c", str(world.config_file())])
    assert done.exit_code == 0, done.output
    return done.stdout

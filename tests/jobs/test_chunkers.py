"""Strategies that cut by vectors, with a model behind them."""

import pytest

from chunking.model import Document
from jobs.chunkers import open_chunker
from jobs.config import ChunkingSettings, Config, parse_config
from jobs.footing import fingerprint
from jobs.sentences import SentenceVectors, VectorChunker
from storage.errors import StoreUnavailableError
from tests.jobs.vector_model import Model
from tests.jobs.world import manual

SEMANTIC = ChunkingSettings(strategy="semantic", min_chars=40, max_chars=400, overlap=0)


def document(name, text=None):
    return Document(document_id=name, markdown=manual(name) if text is None else text)


def chunks_of(chunker, documents, shelf=None):
    """As a run goes: the sentences of a batch, then its documents."""
    for batch, sentences in chunker.batches(documents):
        chunker.vectors.fetch(sentences, shelf)
        yield from map(chunker.chunk, batch)


def unopened():
    raise AssertionError("the model was opened")


@pytest.mark.parametrize("strategy", ["semantic", "topic", "hybrid"])
def test_a_configuration_is_checked_and_told_without_its_model(strategy):
    config = parse_config({"chunking": {"strategy": strategy}}, "here")

    chunker = open_chunker(config.chunking, unopened)

    assert isinstance(chunker, VectorChunker)
    assert chunker.settings == config.chunking.open().settings
    assert chunker.settings["strategy"] == strategy


def test_another_model_or_option_is_another_fingerprint_and_the_same_are_the_same():
    def mark(model="a", **options):
        settings = ChunkingSettings(strategy="semantic", **options)
        chunker = open_chunker(settings, unopened)
        return fingerprint(Config(chunking=settings), chunker, model=model, dim=4)

    assert len({mark(), mark(), mark("b"), mark(min_chars=300)}) == 3


def test_sentences_of_many_documents_are_embedded_in_one_call_and_never_again():
    model = Model()
    chunker = open_chunker(SEMANTIC, lambda: model)
    documents = [document(f"d{number}") for number in range(3)]

    chunks = [chunk for _ in range(2) for chunk in chunks_of(chunker, documents)][:3]

    assert len(model.calls) == 1
    assert all(len(found) > 1 for found in chunks)
    assert chunks == [open_chunker(SEMANTIC, Model).chunk(each) for each in documents]


def test_a_small_memory_costs_calls_and_changes_no_vector():
    vectors = SentenceVectors(Model, held_bytes=32)

    given = vectors(["a", "bee", "see", "a"])

    assert (given == Model().embed(["a", "bee", "see", "a"]).vectors).all()
    assert (vectors(["see", "a"]) == given[[2, 0]]).all()


def test_a_refused_sentence_concerns_its_document_alone():
    chunker = open_chunker(SEMANTIC, Model)
    good, bad = document("good"), document("bad", "Fine. This is poison. Fine too. And more.")

    ((batch, sentences),) = chunker.batches([bad, good])
    chunker.vectors.fetch(sentences)

    assert batch == [bad, good]
    assert chunker.chunk(good)
    with pytest.raises(ValueError, match="cannot be embedded: no"):
        chunker.chunk(bad)


def test_a_model_that_does_not_answer_is_a_fault_to_try_again():
    chunker = open_chunker(SEMANTIC, Model)

    with pytest.raises(StoreUnavailableError, match="gone"):
        chunker.chunk(document("a", "One here. One lost. One more."))


def test_a_model_handed_in_by_the_configuration_is_refused():
    with pytest.raises(ValueError, match="embed"):
        ChunkingSettings(strategy="semantic", embed="x").open()


@pytest.mark.server
class TestInARun:
    def test_sentences_are_paid_for_once_and_a_second_run_embeds_nothing(self, world):
        world.settings["chunking"] = dict(SEMANTIC)
        world.put("a.parquet", {f"{n}.md": manual(f"手册 {n}") for n in range(3)})

        first, second = world.run(), world.run()

        assert first["outcome"] == second["outcome"] == "succeeded"
        paid = world.server.paid_texts()
        assert len(paid) == len(set(paid))
        assert first["embedding"]["tokens"] > 0
        assert second["embedding"]["tokens"] == second["chunks"]["upserted"] == 0
        assert world.rows() != []

    def test_parents_are_rows_that_go_with_their_document(self, world):
        world.settings["chunking"] = {
            "strategy": "parent_child", "parent_size": 256, "child_size": 64,
        }  # fmt: skip
        world.put("a.parquet", {"a": manual("first", sections=4), "b": manual("second")})
        report = world.run()
        kinds = report["chunk_tokens"]

        assert sum(kinds["parent"].values()) > 1
        assert len(world.rows()) == report["chunks"]["total"]
        world.put("a.parquet", {"a": manual("first", sections=2), "b": manual("second")})
        world.run()
        assert len(world.rows()) < report["chunks"]["total"]
        assert world.command("verify").returncode == 0

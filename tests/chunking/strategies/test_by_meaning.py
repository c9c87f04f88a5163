"""`semantic`, `topic` and `hybrid`: cut by vectors."""

import numpy as np
import pytest

from chunking import Block, Document, make_chunker
from chunking.protocols import EmbeddingChunker
from chunking.strategies.semantic import novelties
from chunking.strategies.topic import smoothed, topics
from storage.embeddings import EmbeddingSettings, open_embedder
from tests.chunking.strategies.strategies import embed, make
from tests.rules import body_of

SUBJECTS = ("猫", "税", "船")


def embed_by_subject(texts):
    """A direction for each subject, so that meaning is known."""
    vectors = np.full((len(texts), 4), 0.05, dtype=np.float32)
    for row, text in enumerate(texts):
        for at, subject in enumerate(SUBJECTS):
            vectors[row, at] += text.count(subject)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def sentences_on(subject, count):
    return [f"关于{subject}的第{number:02d}句，讲的还是{subject}。" for number in range(count)]


def a_document(*texts, kind="paragraph"):
    return Document(document_id="d", blocks=tuple(Block(kind=kind, text=text) for text in texts))


def by_subject(name, **options):
    return make_chunker(name, embed=embed_by_subject, **options)


def subjects_of(chunk):
    return [subject for subject in SUBJECTS if f"关于{subject}" in chunk.content]


@pytest.mark.parametrize("name", ["semantic", "topic"])
def test_a_chunk_ends_where_the_subject_changes(name):
    text = "".join(sentence for subject in SUBJECTS for sentence in sentences_on(subject, 35))
    chunks = by_subject(name, **({"overlap": 0} if name == "semantic" else {})).chunk(
        a_document(text)
    )

    assert [subjects_of(chunk) for chunk in chunks] == [[subject] for subject in SUBJECTS]
    assert [
        (chunk.metadata["first_sentence"], chunk.metadata["last_sentence"]) for chunk in chunks
    ] == [(0, 34), (35, 69), (70, 104)]
    if name == "topic":
        assert [chunk.metadata["topic"] for chunk in chunks] == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "least", "most"), [("semantic", 350, 1_100), ("topic", 500, 1_400)]
)
def test_sizes_hold_whatever_the_vectors_say(name, least, most):
    def restless(texts):
        return np.eye(64, dtype=np.float32)[np.arange(len(texts)) % 64]

    text = "".join(sentences_on("猫", 400))
    chunks = make_chunker(name, embed=restless).chunk(a_document(text))

    assert all(least <= len(chunk.content) <= most for chunk in chunks)


def test_semantic_repeats_whole_sentences_up_to_the_overlap():
    text = "".join(sentences_on("猫", 30) + sentences_on("税", 30))
    first, second = by_subject("semantic").chunk(a_document(text))

    shared = "".join(sentences_on("猫", 30)[-5:])
    assert second.content.startswith(shared + "关于税")
    assert len(shared) == 75  # a sixth sentence would make it 90
    assert (first.metadata["last_sentence"], second.metadata["first_sentence"]) == (29, 25)


def test_novelty_is_measured_against_the_mean_of_the_sentences_before():
    x, y = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    section = np.stack([x, x, y, y, y, y])

    assert novelties([section], 2, 0.8) == [frozenset({2})]
    assert novelties([section], 1, 0.8) == [frozenset({2})]
    assert novelties([np.stack([x, y, x, y])], 2, -1.0) == [frozenset({1, 2, 3})]


def test_the_noise_of_a_model_between_batches_is_no_novelty():
    rng = np.random.default_rng(0)
    same = np.ones((50, 8)) / np.sqrt(8) + rng.normal(scale=1e-7, size=(50, 8))

    assert novelties([same], 2, 0.8) == [frozenset()]


def test_the_threshold_is_that_of_the_whole_document():
    x, y, between = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.8, 0.6])
    calm = np.stack([x, x, between, between, x, x])
    torn = np.stack([x, y] * 3)

    assert novelties([calm], 2, 0.8)[0]
    assert not novelties([calm, torn], 2, 0.8)[0]


def test_topics_are_numbered_in_order_and_fewer_where_sentences_are_few():
    a, b = np.array([1.0, 0.0]), np.array([0.0, 1.0])

    assert topics([np.stack([b, b, a]), np.stack([a, b])], 5) == [[0, 0, 1], [1, 0]]
    assert topics([np.stack([a, a, a])], 5) == [[0, 0, 0]]
    assert topics([], 5) == []


@pytest.mark.parametrize(
    ("labels", "smooth"),
    [
        ([0, 0, 1, 0, 0], [0, 0, 0, 0, 0]),
        ([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]),
        ([0, 1], [0, 1]),
    ],
)
def test_a_label_follows_the_majority_around_it_and_itself_on_a_tie(labels, smooth):
    assert smoothed(labels, 2) == smooth


@pytest.mark.parametrize("name", ["semantic", "topic", "hybrid"])
def test_tables_and_code_are_whole_while_they_fit(name):
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | 猫和税 |" for n in range(30))
    code = "\n".join(f"x{n} = {n}  # 船。" for n in range(20))
    blocks = (
        Block(kind="paragraph", text="".join(sentences_on("猫", 40))),
        Block(kind="table", text=table),
        Block(kind="code", text=code),
        Block(kind="paragraph", text="".join(sentences_on("税", 40))),
    )
    chunks = by_subject(name).chunk(Document(document_id="d", blocks=blocks))

    assert sum(table in chunk.content for chunk in chunks) == 1
    assert sum(f"```\n{code}\n```" in chunk.content for chunk in chunks) == 1


@pytest.mark.parametrize("name", ["semantic", "topic", "hybrid"])
def test_a_table_too_wide_is_cut_by_rows_that_repeat_their_header(name):
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | {'x' * 30} |" for n in range(200))
    chunks = by_subject(name).chunk(a_document(table, kind="table"))

    assert len(chunks) > 3
    assert all(chunk.content.startswith("| a | b |\n|---|---|\n") for chunk in chunks)


@pytest.mark.parametrize("name", ["semantic", "topic", "hybrid"])
def test_all_texts_are_asked_for_at_once_and_can_be_told_before(name):
    asked = []

    def noting(texts):
        asked.append(list(texts))
        return embed(texts)

    chunker = make_chunker(name, embed=noting)
    document = a_document("".join(sentences_on("猫", 60)) * 2, "短。", kind="paragraph")
    assert isinstance(chunker, EmbeddingChunker)
    told = chunker.texts_to_embed(document)
    assert asked == []
    chunker.chunk(document)

    assert asked == [told]
    assert len(set(told)) == len(told) >= 60
    assert all(text.strip() for text in told)


@pytest.mark.parametrize("name", ["semantic", "topic", "hybrid"])
def test_nothing_to_embed_asks_for_nothing(name):
    def never(_):
        raise AssertionError("asked")

    assert make_chunker(name, embed=never).chunk(a_document(" \n", "\u200b")) == []


@pytest.mark.parametrize("name", ["semantic", "topic", "hybrid"])
def test_with_no_embed_handed_in_the_local_model_is_asked(name):
    coffee = (
        "Grind the beans fresh. Pour hot water slowly. A darker roast tastes more bitter. " * 12
    )
    taxes = "税表须在四月底之前提交。逾期申报会产生罚款。发票请保存七年。" * 25
    document = a_document(coffee + taxes)
    embedder = open_embedder(EmbeddingSettings())

    chunks = make_chunker(name).chunk(document)

    handed = make_chunker(name, embed=lambda texts: embedder.embed(texts).vectors)
    assert chunks == handed.chunk(document)
    assert len(chunks) > 1


@pytest.mark.parametrize("shape", [(1, 8), (8,), (999, 8)])
def test_vectors_of_another_number_than_the_texts_are_refused(shape):
    def wrong(_):
        return np.zeros(shape, dtype=np.float32)

    with pytest.raises(ValueError, match="embed gave vectors of shape"):
        make_chunker("semantic", embed=wrong).chunk(a_document("".join(sentences_on("猫", 60))))


def test_hybrid_names_the_strategy_that_made_each_chunk():
    turns = [Block(kind="turn", speaker="甲乙"[n % 2], text=f"第{n}句话。") for n in range(9)]
    blocks = (
        Block(kind="paragraph", text="".join(sentences_on("猫", 40) + sentences_on("税", 60))),
        Block(kind="table", text="| a |\n|---|\n" + "| 一行 |\n" * 90),
        Block(kind="code", text="x = 1\n" * 90),
        Block(kind="formula", text="$$\n" + "a + b \\\\\n" * 60 + "$$"),
        *turns,
        Block(kind="paragraph", text="".join(sentences_on("船", 30))),
    )
    chunks = by_subject("hybrid").chunk(Document(document_id="d", blocks=blocks))

    assert [chunk.metadata["made_by"] for chunk in chunks] == [
        "semantic", "semantic", "table", "code", "formula", "dialogue", "recursive",
    ]  # fmt: skip
    assert [subjects_of(chunk)[0] for chunk in chunks[:2]] == ["猫", "猫"]  # the overlap
    assert [chunk.part for chunk in chunks] == [1, 2, 3, 4, 5, 6, 7]


def test_hybrid_packs_short_prose_by_paragraphs_and_joins_fragments_up_to_the_target():
    text = "\n\n".join("段" * 300 + "。" for _ in range(3))
    blocks = (
        Block(kind="paragraph", text="引言。"),
        Block(kind="table", text="| a |\n|---|\n| 1 |"),
        Block(kind="paragraph", text=text),
    )
    chunks = by_subject("hybrid").chunk(Document(document_id="d", blocks=blocks))

    assert [chunk.metadata["made_by"] for chunk in chunks] == ["recursive+table", "recursive"]
    assert body_of(chunks[0]).startswith("引言。\n\n| a |")
    assert all(len(chunk.content) <= 750 for chunk in chunks)


def test_hybrid_tells_code_in_a_list_from_the_list():
    text = "- 步骤\n  ```sh\n  run\n  ```\n- 完"
    (chunk,) = by_subject("hybrid").chunk(a_document(text, kind="list"))

    assert chunk.metadata["made_by"] == "recursive+code"


def test_hybrid_cuts_prose_of_one_length_as_a_whole_by_form_or_by_meaning():
    short, long = "".join(sentences_on("猫", 73)), "".join(sentences_on("猫", 74))
    assert len(short) <= 1_100 < len(long)

    assert {c.metadata["made_by"] for c in make("hybrid").chunk(a_document(short))} == {"recursive"}
    assert {c.metadata["made_by"] for c in make("hybrid").chunk(a_document(long))} == {"semantic"}

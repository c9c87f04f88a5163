"""What must hold for any document, found out by making them up."""

import math

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chunking import Block, Document, StructureAwareChunker, headings_without_text
from tests.rules import chunk_by_the_rules, letters

WORDS = st.sampled_from(
    ["word", "单位", "客", "。", "！", "？！", "”", ". ", "e.g. ", "3.14 ", " ", "  ", "\n", "\n\n",
     "\t", "| ", "|---|", "`", "```", "~~~", "```py\n", "- ", "1. ", "> ", "   ", "# ", "👩‍👩‍👧",
     "🇩🇪", "مرحبا", "؟", "שלום", "हिन्दी", "ไทย", "é", "\u200b", "\ufeff", "\x00", "\x07", "\r\n",
     "\r", "\x0c", "\ud83d", "\u2028", "\x85", "$$", "<|endoftext|>", "https://a.b/c? ", "《a！》",
     "龘", "𠮷", "supercalifragilistic" * 5, "字" * 60, "a, " * 40, "}\n/", "\ufffd"]
)  # fmt: skip
TEXTS = st.one_of(
    st.lists(WORDS, max_size=40).map("".join),
    st.text(max_size=80),
    st.text("ab. \n", max_size=300),  # many boundaries, much white space
    st.text("a`~\n -", max_size=120),
)
ROWS = st.lists(st.lists(TEXTS.map(lambda t: " ".join(t.split())[:60]), min_size=1, max_size=5))
KINDS = ["heading", "paragraph", "list", "code", "image", "formula", "turn", "quote"]


def print_table(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines[:1], "|" + "---|" * len(rows[0]) if rows else "", *lines[1:]])


TABLES = st.one_of(ROWS.map(print_table), TEXTS)
PLACES = st.fixed_dictionaries(
    {},
    optional={
        "page": st.integers(1, 3),
        "sheet": TEXTS,
        "bbox": st.tuples(*[st.floats()] * 4),
        "caption": TEXTS,
        "language": TEXTS,
        "speaker": TEXTS,
        "ts_start": st.floats(),
        "heading_path": st.lists(TEXTS, max_size=3).map(tuple),
        "level": st.integers(-1, 7),
    },
)
BLOCKS = st.one_of(
    st.builds(lambda text, place: Block(kind="table", text=text, **place), TABLES, PLACES),
    st.builds(
        lambda kind, text, place: Block(kind=kind, text=text, **place),
        st.sampled_from(KINDS),
        TEXTS,
        PLACES,
    ),
)
DOCUMENTS = st.builds(
    lambda blocks: Document(document_id="any", file_title="Any", blocks=tuple(blocks)),
    st.lists(BLOCKS, max_size=12),
)
BUDGETS = st.sampled_from([16, 17, 20, 24, 32, 48, 64, 128, 512, 2048])

CELL = "مرحباsupercalifragilisticsupercalifragilisticsupercal"

many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def a_document(*blocks):
    return Document(document_id="any", blocks=blocks)


@many
@given(DOCUMENTS, BUDGETS)
@example(a_document(Block(kind="paragraph", text="a " * 20 + "\nb")), 16)
@example(a_document(Block(kind="paragraph", text="a\n" + " " * 700 + "b")), 16)
@example(a_document(Block(kind="code", text=" " * 5000 + "x\n" + "\n" * 5000 + "y")), 16)
@example(a_document(Block(kind="list", text="- ```\n  a\n" + "  b\n" * 90)), 16)
@example(a_document(Block(kind="table", text="x", caption="c" * 3000)), 16)
@example(a_document(Block(kind="table", text=f"| ```word{CELL} |\n|---|")), 24)  # without pipes
@example(a_document(Block(kind="table", text="```7\n0:0:0:1", heading_path=("word",))), 16)
@example(a_document(Block(kind="table", text="```word", caption="```word")), 16)
@example(a_document(Block(kind="code", text="word", caption="```py\n`")), 16)  # opens no fence
def test_the_rules_hold_for_any_document_and_budget(document, max_tokens):
    chunker = StructureAwareChunker(max_tokens, 0)

    for chunk in chunk_by_the_rules(chunker, document, max_tokens=max_tokens):
        assert chunk.title == chunk.parent_title or chunk.title.endswith(f"-{chunk.part}")
        assert all(map(math.isfinite, (chunk.ts_start, chunk.ts_end, *chunk.bbox.values())))


@many
@given(DOCUMENTS, BUDGETS, st.integers(1, 1000))
def test_the_rules_hold_with_any_overlap(document, max_tokens, overlap):
    overlap = min(overlap, max_tokens - 1)
    chunker = StructureAwareChunker(max_tokens, overlap)

    chunk_by_the_rules(chunker, document, max_tokens=max_tokens, overlap=overlap)


@many
@given(DOCUMENTS, BUDGETS, st.integers(1, 64))
def test_the_rules_hold_with_lead_ins(document, max_tokens, limit):
    chunker = StructureAwareChunker(max_tokens, 0, lead_in_tokens=min(limit, max_tokens))

    chunk_by_the_rules(chunker, document, max_tokens=max_tokens)


@many
@given(DOCUMENTS, BUDGETS, st.integers(1, 512))
def test_joining_small_sections_loses_no_letter(document, max_tokens, min_tokens):
    apart = StructureAwareChunker(max_tokens, 0).chunk(document)
    joined = StructureAwareChunker(max_tokens, 0, min_tokens=min(min_tokens, max_tokens))

    content = letters("".join(chunk.content for chunk in joined.chunk(document)))
    for chunk in apart:
        if chunk.part == 1 and not chunk.title.endswith("-1"):
            assert letters(chunk.content.rpartition("\n")[2]) in content


@many
@given(DOCUMENTS)
def test_a_heading_is_in_a_path_or_in_the_list_of_those_without_text(document):
    chunks = StructureAwareChunker(2048, 0).chunk(document)
    empty = headings_without_text(document)

    for block in document.blocks:
        if block.kind == "heading" and (name := letters(block.text)):
            paths = [letters(title) for chunk in chunks for title in chunk.heading_path]
            explicit = any(b.heading_path is not None for b in document.blocks)
            assert explicit or name in paths or name in map(letters, empty)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2000), BUDGETS, st.randoms(use_true_random=False))
def test_long_documents_keep_the_rules(count, max_tokens, random):
    kinds = ["heading", "paragraph", "list", "table", "code", "formula", "turn"]
    blocks = tuple(
        Block(
            kind=random.choice(kinds),
            text=random.choice(["标题 Title", "短句。", "A sentence. " * 9, "- a\n  - b\n- c",
                                "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 9]),
            level=random.randint(1, 4),
        )
        for _ in range(count)
    )  # fmt: skip
    document = Document(document_id="long", blocks=blocks)

    chunk_by_the_rules(StructureAwareChunker(max_tokens, 0), document, max_tokens=max_tokens)


@pytest.mark.parametrize("tokenizer_name", ["cl100k_base"])
def test_settings_are_json_and_tell_all_that_shapes_the_chunks(tokenizer_name):
    chunker = StructureAwareChunker(256, 32, tokenizer_name, min_tokens=8, label="§ ")

    assert chunker.settings == {
        "strategy": "structure",
        "version": 1,
        "max_tokens": 256,
        "overlap_tokens": 32,
        "tokenizer_name": "cl100k_base",
        "min_tokens": 8,
        "lead_in_tokens": 0,
        "label": "§ ",
        "sentence_splitter": "rules",
    }

"""Where the structure-aware chunker cuts prose, and where its pieces stand in their source."""

import pytest

from chunking import (
    Block,
    Document,
)
from chunking.parsers import parse_markdown, parse_text
from tests.chunking.structure_chunks import chunks_of, contents, long_text, paragraph
from tests.rules import body_of, count_tokens

# Prose


def words(tokens, letter):
    """A paragraph of so many tokens, to which a blank line behind it adds one."""
    text = letter + " a" * (tokens - 1)
    assert (count_tokens(text), count_tokens(text + "\n\n")) == (tokens, tokens + 1)
    return text


def test_a_chunk_can_be_exactly_full():
    texts = [words(30, "X"), words(33, "Y"), words(33, "Z")]

    assert contents(*map(paragraph, texts), max_tokens=64) == ["\n\n".join(texts[:2]), texts[2]]


def test_an_overlap_that_only_just_does_not_fit_leaves_no_chunk_of_its_own():
    texts = [words(39, "X"), words(24, "Y"), words(41, "Z")]

    assert contents(*map(paragraph, texts), max_tokens=64, overlap=32) == [
        "\n\n".join(texts[:2]),
        texts[2],
    ]


def test_a_wide_gap_in_a_line_begins_no_chunk():
    assert contents(paragraph("甲" + " " * 3000 + "乙"), max_tokens=16) == ["甲", "乙"]


@pytest.mark.parametrize(
    "text",
    ["这是一个句子，比较长一些。```这也是文字，没有围栏。", f"```{'文字' * 40}`"],
)
def test_marks_that_a_cut_brings_to_an_edge_open_no_fence(text):
    bodies = contents(paragraph(text), max_tokens=16)

    assert len(bodies) > 1
    assert any("\\```" in body for body in bodies)


@pytest.mark.parametrize("caption", ["表 1", "```word", "~~~ 命令"])
def test_a_caption_that_the_block_begins_with_is_said_once(caption):
    table = Block(kind="table", text=f"{caption}\n- a\n- b", caption=caption)

    (content,) = contents(table)
    assert content.count(caption) == 1


def test_a_formula_is_never_cut_while_it_fits():
    formula = "$$\n" + " + ".join(f"x_{n}" for n in range(12)) + "\n$$"
    blocks = paragraph(long_text(3)), Block(kind="formula", text=formula), paragraph(long_text(3))
    chunks = chunks_of(*blocks, max_tokens=80)

    assert sum(formula in chunk.content for chunk in chunks) == 1


def test_paragraphs_stay_whole_before_sentences_are_cut():
    texts = [f"第{n}段。" + long_text(3) for n in range(6)]
    bodies = [body_of(c) for c in chunks_of(*map(paragraph, texts), max_tokens=128)]

    assert "\n\n".join(bodies) == "\n\n".join(texts)
    assert all(body in "\n\n".join(texts) for body in bodies)
    assert all(body.startswith("第") for body in bodies)


def test_an_item_stays_with_what_is_nested_in_it_while_that_fits():
    items = [f"{n}. 步骤{n}\n   - 子项甲{n}\n   - 子项乙{n}\n\n     续段{n}" for n in range(12)]
    bodies = contents(Block(kind="list", text="\n".join(items)), max_tokens=96)

    assert len(bodies) > 3
    for item in items:
        assert sum(item in body for body in bodies) == 1


def test_an_item_over_the_budget_is_cut_at_the_items_nested_in_it():
    nested = [f"   - 子项{n}，{long_text(1)}" for n in range(12)]
    bodies = contents(Block(kind="list", text="\n".join(["1. 步骤", *nested, "2. 下一步"])),
                      max_tokens=64)  # fmt: skip

    for line in nested:
        assert sum(line in body for body in bodies) == 1
    assert all(body.startswith(("1. 步骤", "   - ")) for body in bodies)


def test_a_table_in_a_list_item_repeats_its_header():
    rows = "\n".join(f"   | r{n} | 值 |" for n in range(60))
    text = f"1. 步骤\n\n   | 名称 | 值 |\n   |---|---|\n{rows}\n2. 下一步"
    bodies = contents(Block(kind="list", text=text), max_tokens=64)

    with_rows = [body for body in bodies if "| r" in body]
    assert len(with_rows) > 3
    assert all("| 名称 | 值 |\n   |---|---|\n" in body for body in with_rows)


# Offsets


MARKDOWN = (
    "# 手册\n\n第一段。\n第二行。\n\n第二段。\n\n```sh\nls\n```\n\n"
    "表 1\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- 一\n- 二\n\n" + long_text()
)


def test_every_body_that_is_verbatim_can_be_cut_out_of_the_source_again():
    chunks = chunks_of(
        document=parse_markdown(MARKDOWN, document_id="d"), max_tokens=96, overlap=32
    )

    assert {chunk.kind for chunk in chunks} == {"paragraph", "code", "table"}
    for chunk in chunks:
        assert MARKDOWN[chunk.char_start : chunk.char_end] == body_of(chunk)


def test_text_has_offsets_too():
    text = f"\n\n  第一段。\n\n{long_text()}\n"
    chunks = chunks_of(document=parse_text(text, document_id="d"), max_tokens=64, overlap=16)

    assert all(text[c.char_start : c.char_end] == c.content for c in chunks)


def test_rows_without_a_repeated_header_have_offsets_and_others_have_none():
    rows = [f"r{n} 的值是 {n}，| 单位 x" for n in range(40)]
    markdown = "\n".join(["| a |", "|---|", *(f"| {row} |" for row in rows)])
    first, *others = chunks_of(document=parse_markdown(markdown, document_id="d"), max_tokens=64)

    assert (first.char_start, first.char_end) == (0, len(first.content))
    assert {chunk.char_start for chunk in others} == {-1}


def test_an_offset_that_is_wrong_is_not_claimed():
    block = paragraph("正文", char_start=3)
    document = Document(document_id="d", text="这是正文。", blocks=(block,))

    assert [chunk.char_start for chunk in chunks_of(document=document)] == [-1]

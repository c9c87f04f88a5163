"""What a chunk of the structure-aware chunker is, field by field and boundary by boundary."""

from dataclasses import asdict, replace
from itertools import pairwise

import pytest

import chunking
from chunking import (
    Block,
    Document,
    StructureAwareChunker,
    StructureAwareMarkdownChunker,
    headings_without_text,
    make_chunker,
)
from chunking.parsers import parse_markdown, parse_text
from tests.rules import body_of, chunk_by_the_rules, count_tokens


def heading(text, level=1, **fields):
    return Block(kind="heading", text=text, level=level, **fields)


def paragraph(text, **fields):
    return Block(kind="paragraph", text=text, **fields)


def chunks_of(*blocks, max_tokens=512, overlap=0, document=None, **options):
    document = document or Document(document_id="d", file_title="File", blocks=blocks)
    chunker = StructureAwareChunker(max_tokens, overlap, **options)
    return chunk_by_the_rules(chunker, document, max_tokens=max_tokens, overlap=overlap)


def contents(*blocks, **options):
    return [chunk.content for chunk in chunks_of(*blocks, **options)]


def long_text(sentences=40):
    return "".join(f"这是第{n}个句子，说明一件事。" for n in range(sentences))


# Boundaries


@pytest.mark.parametrize(
    "place",
    [{"page": 2}, {"sheet": "二"}, {"slide": 2}, {"cell_range": "B2"}, {"heading_path": ("甲",)}],
    ids=lambda place: next(iter(place)),
)
def test_blocks_are_never_joined_across_a_boundary(place):
    assert contents(paragraph("一"), paragraph("二")) == ["一\n\n二"]
    assert len(contents(paragraph("一"), paragraph("二", **place))) == 2


def test_a_heading_ends_a_section_even_when_the_next_has_the_same_name():
    blocks = heading("甲"), paragraph("一"), heading("甲"), paragraph("二")

    assert contents(*blocks) == ["章节：甲\n一", "章节：甲\n二"]


@pytest.mark.parametrize("kind", ["table", "code", "image"])
def test_atomic_kinds_are_never_mixed_with_prose(kind):
    chunks = chunks_of(paragraph("前"), Block(kind=kind, text="| a |\nb"), paragraph("后"))

    assert [chunk.kind for chunk in chunks] == ["paragraph", kind, "paragraph"]


def test_a_blank_block_between_two_paragraphs_parts_nothing():
    assert contents(paragraph("一"), Block(kind="table", text=" \n"), paragraph("二")) == [
        "一\n\n二"
    ]


def test_what_kind_a_chunk_is_follows_from_its_own_blocks():
    blocks = [Block(kind="list", text=f"- {long_text(2)}{n}") for n in range(8)]
    chunks = chunks_of(paragraph(long_text(3)), *blocks, max_tokens=96)

    assert chunks[0].kind == "paragraph"
    assert {chunk.kind for chunk in chunks[2:]} == {"list"}
    (mixed,) = chunks_of(paragraph("一"), Block(kind="list", text="- 二"))
    assert mixed.kind == "paragraph"


def test_an_unknown_kind_is_a_paragraph():
    (chunk,) = chunks_of(Block(kind="sidebar", text="旁注"))

    assert (chunk.kind, chunk.content) == ("paragraph", "旁注")


# Paths, titles, parts


def test_a_path_given_is_kept_and_one_left_out_is_derived():
    blocks = (
        heading("甲"),
        paragraph("一"),
        paragraph("二", heading_path=("乙", " ", "丙\n丁")),
        paragraph("三"),
        paragraph("四", heading_path=()),
    )

    assert [chunk.heading_path for chunk in chunks_of(*blocks)] == [
        ("甲",),
        ("乙", "丙 丁"),
        ("甲",),
        (),
    ]


def test_a_heading_may_bring_its_own_path():
    blocks = (
        heading("丙", heading_path=("甲", "乙"), level=None),
        paragraph("一"),
        heading("乙", heading_path=("甲", "乙"), level=None),
        paragraph("二"),
        heading("丁", level=3),
        paragraph("三"),
    )

    assert [chunk.heading_path for chunk in chunks_of(*blocks)] == [
        ("甲", "乙", "丙"),
        ("甲", "乙"),
        ("甲", "乙", "丁"),
    ]


def test_headings_without_text_tells_apart_headings_of_one_name():
    blocks = (
        heading("说明"),
        heading("甲", 2),
        paragraph("一"),
        heading("说明"),
        heading("乙", 2, heading_path=("说明",)),
    )
    document = Document(document_id="d", blocks=blocks)

    assert headings_without_text(document) == ["说明", "乙"]


def test_a_heading_that_no_path_names_has_no_text():
    blocks = heading("甲"), paragraph("一", heading_path=("乙",))

    assert headings_without_text(Document(document_id="d", blocks=blocks)) == ["甲"]


def test_titles_count_parts_only_where_a_section_was_cut():
    chunks = chunks_of(heading("安装"), paragraph("短。"), heading("排障"), paragraph(long_text()),
                       max_tokens=96)  # fmt: skip
    whole, *parts = chunks

    assert (whole.title, whole.parent_title, whole.part) == ("安装", "安装", 1)
    assert len(parts) > 3
    for number, part in enumerate(parts, start=1):
        assert (part.title, part.parent_title, part.part) == (f"排障-{number}", "排障", number)


def test_without_a_heading_the_title_is_that_of_the_file_and_there_is_no_prefix():
    (chunk,) = chunks_of(paragraph("正文"))

    assert (chunk.title, chunk.parent_title, chunk.content) == ("File", "File", "正文")


@pytest.mark.parametrize(
    ("label", "prefix"), [("章节：", "章节：甲 > 乙"), ("", "甲 > 乙"), ("§ ", "§ 甲 > 乙")]
)
def test_the_label_of_the_prefix_is_a_setting(label, prefix):
    assert contents(heading("甲"), heading("乙", 2), paragraph("一"), label=label) == [
        f"{prefix}\n一"
    ]


# Where it comes from


def test_boxes_of_merged_blocks_become_the_smallest_box_around_them():
    (chunk,) = chunks_of(
        paragraph("一", page=1, bbox=(10, 20, 30, 40)),
        paragraph("二", page=1, bbox=(5, 50, 25, 60)),
        paragraph("三", page=1),
        paragraph("四", page=1, bbox=(float("nan"), 0, 999, 999)),
    )

    assert chunk.bbox == {"x0": 5, "y0": 20, "x1": 30, "y1": 60}


def test_a_box_is_that_of_the_blocks_in_the_chunk_and_not_of_the_whole_section():
    blocks = [paragraph(long_text(4), page=1, bbox=(0, 10 * n, 9, 10 * n + 9)) for n in range(6)]
    chunks = chunks_of(*blocks, max_tokens=96)

    assert chunks[0].bbox == {"x0": 0, "y0": 0, "x1": 9, "y1": 9}
    assert chunks[-1].bbox["y1"] == 59


def test_turns_name_their_speakers_in_order_and_their_times():
    turns = [("王", "你好。", 0.5, 1.0), ("Ann", "Hello.", 1.5, 2.0), ("王", "开始。", 2.5, 3.0)]
    (chunk,) = chunks_of(
        *(Block(kind="turn", text=t, speaker=s, ts_start=a, ts_end=b) for s, t, a, b in turns)
    )

    assert chunk.content == "王: 你好。\n\nAnn: Hello.\n\n王: 开始。"
    assert (chunk.kind, chunk.speaker) == ("turn", "王, Ann")
    assert (chunk.ts_start, chunk.ts_end) == (0.5, 3.0)


def test_stand_ins_mark_what_a_source_does_not_say():
    (chunk,) = chunks_of(paragraph("正文"))

    assert (chunk.page, chunk.slide, chunk.sheet, chunk.cell_range) == (0, 0, "", "")
    assert (chunk.bbox, chunk.speaker, chunk.ts_start, chunk.ts_end) == ({}, "", -1.0, -1.0)
    assert (chunk.char_start, chunk.char_end, chunk.parent_id) == (-1, -1, "")


def test_a_picture_is_its_caption_and_description_each_once():
    picture = Block(kind="image", text="一张网络拓扑图", caption="图 1 拓扑", image_uri="a.png")

    assert contents(picture) == ["图 1 拓扑\n一张网络拓扑图"]
    assert contents(replace(picture, text="图 1 拓扑")) == ["图 1 拓扑"]
    assert contents(replace(picture, text="")) == ["图 1 拓扑"]
    assert contents(replace(picture, text="", caption=" ")) == []


def test_a_long_description_of_a_picture_is_cut_without_overlap():
    bodies = contents(Block(kind="image", text=long_text()), max_tokens=64, overlap=32)

    assert "".join(bodies) == long_text()


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


# Small siblings


def outline(*texts):
    blocks = [heading("手册")]
    for n, text in enumerate(texts):
        blocks += [heading(f"节{n}", 2), paragraph(text)]
    return blocks


def joined(*blocks, min_tokens=64, max_tokens=256):
    document = Document(document_id="d", file_title="File", blocks=blocks)
    return StructureAwareChunker(max_tokens, 0, min_tokens=min_tokens).chunk(document)


def test_by_default_boundaries_are_sacred():
    assert len(chunks_of(*outline("一", "二"))) == 2


def test_small_siblings_are_joined_under_their_parent_with_their_headings_as_lines():
    (chunk,) = joined(*outline("一", "二"))

    assert chunk.content == "章节：手册\n节0\n一\n\n节1\n二"
    assert (chunk.heading_path, chunk.title) == (("手册",), "手册")


def test_text_right_under_the_parent_joins_its_children():
    blocks = heading("手册"), paragraph("引言"), heading("节", 2), paragraph("一")

    assert [chunk.content for chunk in joined(*blocks)] == ["章节：手册\n引言\n\n节\n一"]


@pytest.mark.parametrize(
    "blocks",
    [
        outline("一", long_text(8)),
        [heading("甲"), paragraph("一"), heading("乙"), paragraph("二")],
        [heading("甲"), paragraph("一", page=1), heading("乙", 2), paragraph("二", page=2)],
        [heading("甲"), paragraph("一"), heading("乙", 2), Block(kind="code", text="x")],
        [heading("甲"), heading("乙", 2), paragraph("一"), heading("丙"), heading("丁", 2),
         paragraph("二")],
        [paragraph("一", heading_path=("甲", "乙", "丙")), paragraph("二", heading_path=("甲",))],
    ],
    ids=["large", "no parent", "page", "code", "other parent", "cousins"],
)  # fmt: skip
def test_what_is_large_or_elsewhere_is_not_joined(blocks):
    assert len(joined(*blocks)) == 2


def test_siblings_are_joined_only_while_the_sum_fits():
    chunks = joined(*outline(*[long_text(3)] * 12), min_tokens=96, max_tokens=128)

    assert 3 < len(chunks) < 12
    sizes = [chunk.token_count for chunk in chunks]
    assert all(size <= 128 < size + other for size, other in pairwise(sizes[:-1]))
    assert {chunk.part for chunk in chunks} == {1}


# Identity


def test_a_change_of_title_or_metadata_alone_changes_the_payload_hash_alone():
    base = Document(document_id="d", file_title="File", blocks=(paragraph("正文"),))
    (chunk,) = chunks_of(document=base)
    for change in (
        {"file_title": "Other"},
        {"metadata": {"a": 1}},
        {"source": "s"},
        {"item_name": "i"},
        {"blocks": (paragraph("正文", page=2),)},
    ):
        (other,) = chunks_of(document=replace(base, **change))
        assert (other.chunk_id, other.content_hash) == (chunk.chunk_id, chunk.content_hash)
        assert other.payload_hash != chunk.payload_hash


def test_nothing_in_a_row_changes_when_only_a_later_neighbour_does():
    before = chunks_of(*outline("一", "二"))
    after = chunks_of(*outline("一", "三"))

    assert asdict(before[0]) == asdict(after[0])


def test_metadata_stays_with_each_chunk():
    document = Document(document_id="d", metadata={"team": "x"}, blocks=(paragraph("正文"),))

    assert [chunk.metadata for chunk in chunks_of(document=document)] == [{"team": "x"}]


# Settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 15}, "max_tokens=15 must be at least 16"),
        ({"max_tokens": 64, "overlap_tokens": 64}, "overlap_tokens=64 .* max_tokens=64"),
        ({"overlap_tokens": -1}, "overlap_tokens=-1"),
        ({"min_tokens": -1}, "min_tokens=-1"),
        ({"lead_in_tokens": -1}, "lead_in_tokens=-1"),
        ({"lead_in_tokens": "64"}, "lead_in_tokens='64' must be a whole number"),
        ({"max_tokens": 64.5}, "max_tokens=64.5 must be a whole number"),
        ({"min_tokens": True}, "min_tokens=True must be a whole number"),
        (
            {"max_tokens": 64, "overlap_tokens": 0, "min_tokens": 65},
            "min_tokens=65 .* max_tokens=64",
        ),
        ({"label": "a\nb"}, "one line"),
    ],
)
def test_a_setting_out_of_range_is_refused_when_built_with_its_numbers(options, message):
    with pytest.raises(ValueError, match=message):
        StructureAwareChunker(**options)


def test_the_defaults_are_the_contract():
    chunker = StructureAwareChunker()

    assert (chunker.max_tokens, chunker.overlap_tokens) == (512, 64)
    assert chunker.tokenizer_name == "cl100k_base"
    assert chunker.min_tokens == 0
    assert StructureAwareMarkdownChunker is StructureAwareChunker


def test_a_strategy_is_made_by_its_name_and_its_options_are_checked():
    assert make_chunker("structure", max_tokens=128) == StructureAwareChunker(max_tokens=128)
    with pytest.raises(ValueError, match="'size' is no option of the strategy 'structure'"):
        make_chunker("structure", size=3)
    with pytest.raises(ValueError, match="strategy='nonsense' must be one of structure"):
        make_chunker("nonsense")


def test_what_is_public_is_exported():
    for name in chunking.__all__:
        assert getattr(chunking, name)


def test_a_document_with_markdown_and_no_blocks_is_parsed_first():
    document = Document(document_id="d", markdown="# 甲\n\n一")

    assert [chunk.content for chunk in StructureAwareChunker().chunk(document)] == ["章节：甲\n一"]


def test_a_document_without_anything_gives_no_chunk():
    assert StructureAwareChunker().chunk(Document(document_id="d")) == []
    assert StructureAwareChunker().chunk(Document(document_id="d", text="\u200b \n")) == []


def test_the_budget_holds_the_prefix_too():
    for chunk in chunks_of(heading("标题"), paragraph(long_text()), max_tokens=48):
        assert chunk.content.startswith("章节：标题\n")
        assert count_tokens(chunk.content) <= 48

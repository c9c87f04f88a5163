"""What a chunk of the structure-aware chunker is, field by field and boundary by boundary."""

from dataclasses import replace

import pytest

from chunking import (
    Block,
    Document,
    headings_without_text,
)
from tests.chunking.structure_chunks import chunks_of, contents, heading, long_text, paragraph

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

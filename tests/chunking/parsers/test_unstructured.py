"""Unstructured elements: CASES F and the traps of FORMATS 2."""

import base64
import gzip
import json
import zlib

import pytest

from chunking.parsers import ParseError, parse_unstructured


def element(kind, words, **metadata):
    return {"type": kind, "element_id": "e", "text": words, "metadata": metadata}


def packed(*originals):
    return base64.b64encode(zlib.compress(json.dumps(originals).encode())).decode()


def parsed(value, **options):
    return parse_unstructured(value, document_id="d", **options)


def read(data, name):
    return parsed((data / "unstructured" / name).read_bytes())


def kinds_and_texts(document):
    return [(block.kind, block.text) for block in document.blocks]


def test_levels_come_from_depth_and_order_not_from_parents(data):
    """C65."""
    document = read(data, "xq_manual_zh.docx.json")
    headings = [(block.level, block.text) for block in document.blocks if block.kind == "heading"]

    assert headings[:5] == [
        (1, "星桥边缘网关运维手册"),
        (2, "1 安装"),
        (3, "1.1 硬件要求"),
        (3, "1.2 安装步骤"),
        (2, "2 排障"),
    ]
    told = repr(document.blocks)
    assert "内部版" not in told
    assert "第 1 版" not in told
    assert told.count("表 1 各型号硬件要求") == 1
    assert document.warnings == ("Header skipped: 1", "Footer skipped: 1")


def test_tables_are_those_of_the_html(data):
    """C67."""
    document = read(data, "stanley-cups.xlsx.json")
    first, second = (block for block in document.blocks if block.kind == "table")

    assert "| Maple Leafs | TOR | 13 |" in first.text.split("\n")
    assert "| Maple Leafs | TOR | 0 |" in second.text.split("\n")
    assert (len(first.text.split("\n")), len(second.text.split("\n"))) == (5, 5)
    assert (first.sheet, second.sheet) == ("Stanley Cups", "Stanley Cups Since 67")
    assert {block.page for block in document.blocks} == {None}


def test_chunks_are_opened_into_what_they_were_made_of(data):
    """C69: the same manual, plain and chunked, gives the same blocks."""
    plain = read(data, "xq_manual_zh.html.json")
    chunked = read(data, "xq_manual_zh.by_title_chunks.json")

    assert chunked.blocks == plain.blocks


def test_two_tables_in_one_composite_are_both_read_and_not_told_twice():
    """C69."""
    html = "<table><tr><td>T1</td></tr></table><table><tr><td>T2</td></tr></table>"
    document = parsed([element("CompositeElement", "before\n\nT1 T2", text_as_html=html)])

    assert kinds_and_texts(document) == [
        ("paragraph", "before"),
        ("table", "| T1 |\n| --- |"),
        ("table", "| T2 |\n| --- |"),
    ]


def test_a_composite_without_originals_is_its_paragraphs():
    document = parsed([element("CompositeElement", "a\n\nb"), element("TableChunk", "c d")])

    assert kinds_and_texts(document) == [("paragraph", "a"), ("paragraph", "b"), ("table", "c d")]


def test_an_element_cut_over_chunks_comes_once(data):
    """C71: also the page is that of the element, and none where none is told."""
    document = read(data, "handbook-1p.docx.basic-chunks.json")
    texts = [block.text for block in document.blocks]

    assert len(set(texts)) == len(texts) == 14
    assert sum("28 U.S.C. § 586(b).  The Handbook" in text for text in texts) == 1
    assert [block.page for block in document.blocks] == [1] * 7 + [2] * 6 + [None]
    assert texts[-1] == "Copyright"


def test_layout_is_no_text_and_unknown_types_are():
    """C70."""
    document = parsed(
        [
            element("PageBreak", ""),
            element("Header", "head"),
            element("PageNumber", "3"),
            {"type": "Brandneu", "text": "内容"} | {"metadata": {"page_number": 2}},
            element("Title", None),
            {"type": ["x"], "text": "no type"},
            7,
        ]
    )

    assert [(b.text, b.page) for b in document.blocks] == [("内容", 2), ("no type", None)]
    assert document.warnings == (
        "elements that are no objects skipped: 1",
        "Header skipped: 1",
        "PageNumber skipped: 1",
        "empty headings skipped: 1",
    )


def test_letters_that_look_like_an_escape_stay_as_written(data):
    """C70."""
    headings = [b.text for b in read(data, "confluence_1540126.json").blocks if b.kind == "heading"]

    assert headings[0] == r"\uD83E\uDD14 Problem Statement"


def test_running_heads_can_be_kept():
    document = parsed(
        [element("Header", "head"), element("Footer", "foot")], include_furniture=True
    )

    assert kinds_and_texts(document) == [("paragraph", "head"), ("paragraph", "foot")]


def test_a_caption_goes_to_the_object_beside_it():
    html = "<table><tr><td>x</td></tr></table>"
    document = parsed(
        [
            element("FigureCaption", "Table 1"),
            element("Table", "x", text_as_html=html),
            element("Image", "alt", image_url="a.png"),
            element("FigureCaption", "Figure 1"),
            element("FigureCaption", "Figure 2"),
            element("NarrativeText", "words"),
            element("Image", ""),
        ]
    )

    assert [(b.kind, b.text, b.caption, b.image_uri) for b in document.blocks] == [
        ("table", "| x |\n| --- |", "Table 1", None),
        ("image", "alt", "Figure 1", "a.png"),
        ("paragraph", "Figure 2", None, None),
        ("paragraph", "words", None, None),
    ]
    assert document.warnings == ("pictures without text skipped: 1",)


def test_list_items_of_one_page_are_one_list():
    document = parsed(
        [
            element("ListItem", "1. a", category_depth=1),
            element("ListItem", "b\nc", category_depth=2),
            element("ListItem", "d", page_number=2),
        ]
    )

    assert kinds_and_texts(document) == [("list", "1. a\n  - b\n    c"), ("list", "- d")]


@pytest.mark.parametrize("filling", [b" " * (70 << 20), b"[" * (70 << 20)])
def test_originals_that_unpack_without_end_fail_the_document_alone(filling):
    """A zip bomb of 70 KB."""
    bomb = base64.b64encode(zlib.compress(filling)).decode()

    with pytest.raises(ParseError, match="d: element 1: orig_elements unpack to more than 64 MB"):
        parsed([element("Title", "a"), element("CompositeElement", "b", orig_elements=bomb)])


def test_many_small_bombs_are_one_large_one():
    part = packed({"type": "Text", "text": "a" * (25 << 20)})
    chunks = [element("CompositeElement", "b", orig_elements=part) for _ in range(3)]

    with pytest.raises(ParseError, match="d: element 2: orig_elements unpack"):
        parsed(chunks)


@pytest.mark.parametrize(
    "rubbish",
    ["eJ", "!!!", "龘", "", base64.b64encode(b"eJno zlib").decode(), packed()[:-6], 5],
)
def test_originals_that_cannot_be_read_leave_the_chunks_own_text(rubbish):
    document = parsed([element("CompositeElement", "own", orig_elements=rubbish)])

    assert kinds_and_texts(document) == [("paragraph", "own")]


def test_points_count_from_the_bottom_and_pixels_from_the_top():
    def box(system):
        corners = [[10, 10], [10, 30], [50, 30], [50, 10]]
        size = {"layout_width": 100, "layout_height": 200}
        return {"points": corners, "system": system} | size

    document = parsed(
        [
            element("NarrativeText", "a", coordinates=box("PixelSpace")),
            element("NarrativeText", "b", coordinates=box("PointSpace")),
            element("NarrativeText", "c", coordinates={"points": [[1], "x"]}),
        ]
    )

    assert [block.bbox for block in document.blocks] == [
        (10.0, 10.0, 50.0, 30.0),
        (10.0, 170.0, 50.0, 190.0),
        None,
    ]


def test_pages_of_a_presentation_are_slides():
    kind = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
    document = parsed([element("Title", "a", page_number=3, filetype=kind)])

    assert (document.blocks[0].slide, document.blocks[0].page) == (3, None)


@pytest.mark.parametrize("value", ["{}", {}, "null", 5])
def test_what_is_no_list_is_refused(value):
    with pytest.raises(ParseError, match="d: an element list is a list, not"):
        parsed(value)


@pytest.mark.parametrize(
    "pack",
    [
        lambda raw: base64.encodebytes(zlib.compress(raw)).decode(),
        lambda raw: base64.b64encode(gzip.compress(raw)).decode(),
        lambda raw: base64.urlsafe_b64encode(zlib.compress(raw)).decode().rstrip("="),
        json.loads,
    ],
    ids=["lines", "gzip", "url-safe", "list"],
)
def test_originals_are_opened_however_they_are_packed(pack):
    originals = [element("Title", "标题" * 90), element("NarrativeText", "?>~正文" * 40)]
    chunk = element("CompositeElement", "all", orig_elements=pack(json.dumps(originals).encode()))

    assert [block.kind for block in parsed([chunk]).blocks] == ["heading", "paragraph"]


def test_elements_by_the_names_of_layout_models_are_what_they_are():
    document = parsed(
        [
            element("Page-header", "内部资料"),
            element("Section-header", "安装"),
            element("List-item", "解压"),
            element("BulletedText", "运行"),
            element("Picture", "拓扑"),
            element("Caption", "图 1"),
            element("Page-footer", "3"),
        ]
    )

    assert kinds_and_texts(document) == [
        ("heading", "安装"),
        ("list", "- 解压\n- 运行"),
        ("image", "拓扑"),
    ]
    assert document.blocks[-1].caption == "图 1"
    assert document.warnings == ("Header skipped: 1", "Footer skipped: 1")

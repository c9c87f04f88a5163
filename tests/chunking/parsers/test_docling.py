"""DoclingDocument: CASES E, and the traps of FORMATS 1."""

import json
import pickle

import pytest

from chunking.parsers import ParseError
from tests.chunking.parsers.docling_documents import (
    cell,
    document,
    kinds_and_texts,
    parsed,
    read,
    refs,
    text,
    texts,
)

PAGES = {"1": {"page_no": 1, "size": {"width": 600.0, "height": 800.0}}}


def test_running_heads_are_left_out_whatever_layer_they_are_in():
    """C56."""
    inside = document(
        texts=[text(0, "Fuß", "page_footer", content_layer="body"), text(1, "words")],
        groups=[{"label": "section", "children": texts(2)}],
        body={"children": refs("#/groups/0")},
    )
    alone = document(texts=[text(0, "Fuß", "page_footer")])

    assert kinds_and_texts(parsed(inside)) == [("paragraph", "words")]
    assert parsed(alone).blocks == ()
    assert parsed(alone).warnings == ("page footers skipped: 1",)


def test_slides_have_their_own_headings_and_boxes_lie_on_them(data):
    """C63."""
    result = read(data, "powerpoint_sample.pptx.json")
    (table,) = (block for block in result.blocks if block.kind == "table")
    rows = [row for row in table.text.split("\n") if "---" not in row]

    assert [len(row.split(" | ")) for row in rows] == [7] * 9
    assert {block.slide for block in result.blocks} == {1, 2, 3}
    assert {block.page for block in result.blocks} == {None}
    assert {b.heading_path for b in result.blocks if b.slide == 3} == {()}
    assert result.warnings == ("speaker notes skipped: 2",)
    for block in result.blocks:
        left, top, right, bottom = block.bbox
        assert 0 <= left < right <= 12_192_000
        assert 0 <= top < bottom <= 6_858_000


def test_speaker_notes_are_sections_of_their_own_when_asked_for(data):
    result = read(data, "powerpoint_sample.pptx.json", include_notes=True)
    notes = [block for block in result.blocks if block.heading_path[-1:] == ("Notes",)]

    assert [(note.slide, note.text[:10]) for note in notes] == [
        (2, "Some notes"),
        (3, "Final note"),
    ]
    assert notes[0].heading_path == ("Second slide title", "Notes")
    assert result.warnings == ()


def test_broken_references_are_left_out_and_counted():
    """C64 a."""
    value = document(
        texts=[text(0, "words")],
        body={"children": [*refs("#/texts/0", "#/texts/99", "#/nothing", "x"), {"$ref": 7}, None]},
    )

    assert kinds_and_texts(parsed(value)) == [("paragraph", "words")]
    assert parsed(value).warnings == ("broken references skipped: 3",)


def test_a_cycle_ends():
    """C64 b."""
    value = document(
        texts=[text(0, "words")],
        groups=[{"label": "section", "children": refs("#/groups/0", "#/body", "#/texts/0")}],
        body={"children": refs("#/groups/0")},
    )

    assert kinds_and_texts(parsed(value)) == [("paragraph", "words")]


def test_old_versions_have_no_layers():
    """C64 c."""
    value = document(texts=[text(0, "words")], version="1.0.0")

    assert kinds_and_texts(parsed(value)) == [("paragraph", "words")]


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (document(schema_name="Other"), "d: schema_name: 'Other' is not 'DoclingDocument'"),
        ({"body": {}}, "d: schema_name: None"),
        (document(body=None), "d: body: must be an object, not nothing"),
        ([], "d: a DoclingDocument is an object, not list"),
        ("{", "d: line 1 column 2: not JSON"),
        ("[" * 100_000, "d: JSON is nested too deeply"),
    ],
)
def test_what_is_no_docling_document_is_refused_by_name(value, match):
    """C64 d."""
    with pytest.raises(ParseError, match=match) as caught:
        parsed(value)

    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_json_with_a_byte_order_mark_is_read():
    """C28."""
    value = json.dumps(document(texts=[text(0, "words")]))

    assert kinds_and_texts(parsed("\ufeff" + value)) == [("paragraph", "words")]
    assert kinds_and_texts(parsed(value.encode("utf-8-sig"))) == [("paragraph", "words")]


def test_half_a_surrogate_pair_in_json_is_removed_and_counted():
    """C30, C31."""
    value = r"""{"schema_name": "DoclingDocument", "body": {"children": [{"$ref": "#/texts/0"},
        {"$ref": "#/texts/1"}]}, "texts": [{"label": "text", "text": "结果 \ud83d 完成\u0000"},
        {"label": "section_header", "text": "标\ud83d题"}]}"""
    result = parsed(value)

    assert [block.text for block in result.blocks] == ["结果  完成", "标题"]
    assert result.warnings == ("control characters removed: 1", "lone surrogates removed: 2")


def test_a_title_stands_above_all_headings():
    value = document(
        texts=[
            text(0, "T", "title"),
            text(1, "A", "section_header", level=1),
            text(2, "B", "section_header", level=3),
            text(3, "", "section_header", level=1),
        ]
    )

    assert [(b.level, b.text) for b in parsed(value).blocks] == [(1, "T"), (2, "A"), (4, "B")]


def test_unknown_labels_are_text_and_wrong_types_are_nothing():
    value = document(
        texts=[
            text(0, "neu", "brand_new"),
            text(1, None),
            text(2, ["x"]),
            text(3, "flag", {"odd": 1}),
            text(4, 5),
            text(5, "p", prov=[{"page_no": "x", "bbox": [1]}, 7]),
        ]
    )

    assert [block.text for block in parsed(value).blocks] == ["neu", "flag", "5", "p"]


def test_boxes_are_brought_to_the_top_left_and_pages_count_from_one():
    def prov(page, origin, **box):
        return [{"page_no": page, "bbox": box | {"coord_origin": origin}}]

    value = document(
        pages=PAGES,
        texts=[
            text(0, "a", prov=prov(1, "BOTTOMLEFT", l=10, t=790, r=50, b=700)),
            text(1, "b", prov=prov(1, "TOPLEFT", l=10, t=700, r=50, b=790)),
            text(2, "c", prov=prov(1, "TOPLEFT", l=10, t=700, r=10, b=790)),
            text(3, "d", prov=prov(2, "BOTTOMLEFT", l=10, t=790, r=50, b=700)),
            text(4, "e", prov=prov(0, "TOPLEFT", l=10, t=700, r=50, b=790)),
        ],
    )

    assert [(block.page, block.bbox) for block in parsed(value).blocks] == [
        (1, (10.0, 10.0, 50.0, 100.0)),
        (1, (10.0, 700.0, 50.0, 790.0)),
        (1, None),
        (2, None),
        (None, None),
    ]


def test_sheets_have_a_name_a_range_and_no_page():
    box = {"l": 1.0, "t": 2.0, "r": 28.0, "b": 5.0, "coord_origin": "TOPLEFT"}
    value = document(
        groups=[{"label": "sheet", "name": "sheet: Umsatz", "children": refs("#/tables/0")}],
        tables=[
            {
                "prov": [{"page_no": 1, "bbox": box}],
                "data": {"table_cells": [cell(0, 0, "x")]},
            }
        ],
        body={"children": refs("#/groups/0")},
    )
    (table,) = parsed(value).blocks

    assert (table.sheet, table.cell_range, table.page, table.bbox) == (
        "Umsatz",
        "B3:AB5",
        None,
        None,
    )


def test_cues_of_a_track_are_turns():
    track = {"kind": "track", "start_time": 1.5, "end_time": 2.0, "voice": "A"}
    unnamed = {"kind": "track", "start_time": 2.0, "end_time": 3.0}
    value = document(texts=[text(0, "Ja.", source=[track]), text(1, "Gut.", source=[unnamed])])

    assert [(b.kind, b.speaker, b.ts_start, b.ts_end) for b in parsed(value).blocks] == [
        ("turn", "A", 1.5, 2.0),
        ("turn", None, 2.0, 3.0),
    ]


def test_what_is_a_choice_can_be_chosen():
    value = document(
        texts=[
            text(0, "Menu", content_layer="furniture"),
            text(1, "Page title", "title", content_layer="furniture"),
            text(2, "note", "footnote"),
            text(3, "words"),
        ]
    )

    plain = parsed(value)
    assert [block.text for block in plain.blocks] == ["note", "words"]
    assert (plain.file_title, plain.warnings) == ("Page title", ("furniture skipped: 2",))
    everything = parsed(value, include_furniture=True, include_footnotes=False)
    assert [block.text for block in everything.blocks] == ["Menu", "Page title", "words"]
    assert everything.warnings == ("footnotes skipped: 1",)


def test_a_paragraph_lies_where_its_runs_lie():
    value = document(
        texts=[
            text(0, "first", prov=[{"page_no": 2, "bbox": {"l": 1, "t": 2, "r": 3, "b": 4}}]),
            text(1, "second", prov=[{"page_no": 2, "bbox": {"l": 3, "t": 2, "r": 9, "b": 5}}]),
        ],
        groups=[{"label": "inline", "children": texts(2)}],
        body={"children": refs("#/groups/0")},
    )

    (block,) = parsed(value).blocks
    assert (block.text, block.page, block.bbox) == ("first second", 2, (1, 2, 9, 5))


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("section_header", ("heading", "用`grep`")),
        ("title", ("heading", "用`grep`")),
        ("checkbox_selected", ("paragraph", "[x] 用`grep`")),
    ],
)
def test_words_in_runs_below_are_the_items_own(label, expected):
    """What else stands below, is read behind it."""
    value = document(
        texts=[
            text(0, "", label, children=refs("#/groups/0", "#/texts/3")),
            text(1, "用"),
            text(2, "grep", "code"),
            text(3, "words"),
        ],
        groups=[{"label": "inline", "children": refs("#/texts/1", "#/texts/2")}],
        body={"children": refs("#/texts/0")},
    )

    assert kinds_and_texts(parsed(value)) == [expected, ("paragraph", "words")]


def test_a_box_without_an_origin_is_read_by_its_edges():
    """The schema's default is the top left; some writers leave it out for the other."""
    downwards = {"l": 10, "t": 700, "r": 50, "b": 790}
    upwards = {"l": 10, "t": 790, "r": 50, "b": 700}
    value = document(
        pages=PAGES,
        texts=[
            text(0, "a", prov=[{"page_no": 1, "bbox": downwards}]),
            text(1, "b", prov=[{"page_no": 1, "bbox": upwards}]),
        ],
    )

    assert [block.bbox for block in parsed(value).blocks] == [
        (10.0, 700.0, 50.0, 790.0),
        (10.0, 10.0, 50.0, 100.0),
    ]

"""DoclingDocument: CASES E, C11, and the traps of FORMATS 1."""

import json
import pickle

import pytest

from chunking.parsers import ParseError, parse_docling

PAGES = {"1": {"page_no": 1, "size": {"width": 600.0, "height": 800.0}}}


def text(number, words, label="text", **fields):
    return {"self_ref": f"#/texts/{number}", "label": label, "text": words} | fields


def refs(*references):
    return [{"$ref": reference} for reference in references]


def texts(count):
    return refs(*(f"#/texts/{number}" for number in range(count)))


def document(**parts):
    """A small document whose body holds all its texts, unless told otherwise."""
    parts.setdefault("body", {"children": texts(len(parts.get("texts", [])))})
    return {"schema_name": "DoclingDocument", "version": "1.10.0", "name": "n"} | parts


def parsed(value, **options):
    return parse_docling(value, document_id="d", **options)


def read(data, name, **options):
    return parsed((data / "docling" / name).read_bytes(), **options)


def kinds_and_texts(result):
    return [(block.kind, block.text) for block in result.blocks]


def cell(row, column, words, **fields):
    start = {"start_row_offset_idx": row, "start_col_offset_idx": column, "text": words}
    return start | {"row_span": 1, "col_span": 1} | fields


def test_a_caption_stands_with_its_object_and_nowhere_else(data):
    """C54."""
    picture, table = read(data, "core_referenced_caption.json").blocks

    assert (picture.kind, picture.text) == ("image", "Figure 1")
    assert (table.kind, table.caption) == ("table", "Table 1")
    assert table.text == "| H1 | H2 |\n| --- | --- |\n| C1 | C2 |"


def test_a_caption_whose_object_is_not_in_the_tree_is_still_read():
    value = document(
        texts=[text(0, "words"), text(1, "Table 1", "caption")],
        tables=[{"captions": refs("#/texts/1"), "data": {"table_cells": []}}],
    )

    assert kinds_and_texts(parsed(value)) == [("paragraph", "words"), ("paragraph", "Table 1")]


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


def test_rich_cells_are_printed_once(data):
    """C58."""
    result = read(data, "docx_rich_cells.docx.json")
    tables = [block for block in result.blocks if block.kind == "table"]

    assert len(tables) == 7
    assert sum("A First" in block.text for block in result.blocks) == 1
    assert {block.kind for block in result.blocks} == {"heading", "table", "paragraph"}
    assert "Cell 1 Cell 2 Cell 3" in tables[1].text
    assert "base64" not in repr(result)


def test_pictures_have_their_words_only():
    """C60."""
    uri = "data:image/png;base64,AAAA"
    value = document(
        texts=[text(0, "Bild 1", "caption")],
        pictures=[
            {"label": "picture", "image": {"uri": uri}},
            {"label": "picture", "captions": refs("#/texts/0"), "image": {"uri": uri}},
            {"label": "picture", "annotations": [{"kind": "description", "text": "eine Ente"}]},
            {"label": "picture", "meta": {"description": {"text": "ein See"}}},
        ],
        body={"children": refs(*(f"#/pictures/{n}" for n in range(4)))},
    )
    bare = document(pictures=[{"label": "picture"}], body={"children": refs("#/pictures/0")})

    assert kinds_and_texts(parsed(value)) == [
        ("image", "Bild 1"),
        ("image", "eine Ente"),
        ("image", "ein See"),
    ]
    assert parsed(value).warnings == ("pictures without text skipped: 1",)
    assert "base64" not in repr(parsed(value))
    assert parsed(bare).blocks == ()


def test_words_inside_a_picture_are_the_pictures(data):
    pictures = [b for b in read(data, "amt_handbook_sample.json").blocks if b.kind == "image"]

    assert pictures[0].caption == "Figure 7-26. Self-locking nuts."
    assert pictures[0].text.split("\n")[1:3] == ["Flexloc nut", "Fiber locknut"]


def test_a_page_that_was_taken_for_a_picture_is_read_as_a_page():
    value = document(
        texts=[text(0, "H", "section_header"), text(1, "words")],
        pictures=[{"label": "picture", "children": texts(2)}],
        body={"children": refs("#/pictures/0")},
    )

    assert kinds_and_texts(parsed(value)) == [("heading", "H"), ("paragraph", "words")]


def test_formulas_and_code_are_not_lost(data):
    """C62."""
    blocks = read(data, "code_and_formula.json").blocks
    (formula,) = (block for block in blocks if block.kind == "formula")
    (code,) = (block for block in blocks if block.kind == "code")

    assert (formula.text, formula.page) == ("a 2 +8 = 12", 2)
    assert (code.caption, code.language, code.page) == (
        "Listing 1: Simple JavaScript Program",
        None,
        1,
    )
    assert sum("Listing 1" in repr(block) for block in blocks) == 1
    assert not any(block.text == "1" for block in blocks)


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


def test_a_cycle_of_rich_cells_ends():
    value = document(
        tables=[{"data": {"table_cells": [cell(0, 0, "", ref={"$ref": "#/groups/0"})]}}],
        groups=[{"label": "list", "children": refs("#/tables/0", "#/groups/0")}],
        body={"children": refs("#/tables/0")},
    )

    assert parsed(value).blocks == ()


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


def test_a_label_over_many_rows_is_in_each_and_a_wide_title_comes_once():
    """C11."""
    rows = [cell(0, 0, "标题" * 100, col_span=4, column_header=True)]
    rows += [cell(1, 0, "华东区", row_span=30)]
    rows += [cell(row, column, f"{row}.{column}") for row in range(1, 31) for column in (1, 2, 3)]
    value = document(
        tables=[{"data": {"table_cells": rows}}], body={"children": refs("#/tables/0")}
    )
    (table,) = parsed(value).blocks
    lines = table.text.split("\n")

    assert table.text.count("标题" * 100) == 1
    assert all(line.startswith("| 华东区 |") for line in lines[2:])
    assert {line.count("|") for line in lines} == {5}


def test_a_file_with_a_grid_only_says_merged_cells_once():
    merged = cell(0, 0, "M", col_span=2)
    value = document(
        tables=[{"data": {"grid": [[merged, merged], [cell(1, 0, "a"), cell(1, 1, "b")]]}}],
        body={"children": refs("#/tables/0")},
    )

    assert parsed(value).blocks[0].text == "| M |  |\n| --- | --- |\n| a | b |"


def test_hostile_offsets_of_cells_end():
    cells = [cell(10**12 * n, 10**12 * n, "x", row_span=10**15, col_span=10**15) for n in range(3)]
    value = document(
        tables=[{"data": {"table_cells": cells}}], body={"children": refs("#/tables/0")}
    )

    assert parsed(value).blocks[0].text.count("x") == 6


def test_lists_keep_depth_and_numbers_and_inline_runs_are_one_item():
    items = [
        text(0, "a", "list_item", enumerated=True, marker="1.", children=refs("#/groups/1")),
        text(1, "", "list_item", enumerated=False, marker="", children=refs("#/groups/2")),
        text(2, "run"),
        text(3, "cmd", "code"),
        text(4, ", end"),
        text(5, "b\nmore", "list_item", enumerated=True, marker=""),
        text(6, "loose", "list_item"),
        text(7, "other", "list_item"),
    ]
    value = document(
        texts=items,
        groups=[
            {"label": "ordered_list", "children": refs("#/texts/0", "#/texts/5")},
            {"label": "list", "children": refs("#/texts/1")},
            {"label": "inline", "children": refs("#/texts/2", "#/texts/3", "#/texts/4")},
        ],
        body={"children": refs("#/groups/0", "#/texts/6", "#/texts/7")},
    )

    assert kinds_and_texts(parsed(value)) == [
        ("list", "1. a\n   - run `cmd`, end\n2. b\n   more"),
        ("list", "- loose\n- other"),
    ]


def test_tables_in_a_list_follow_it():
    value = document(
        texts=[text(0, "a", "list_item", children=refs("#/tables/0")), text(1, "b", "list_item")],
        tables=[{"data": {"table_cells": [cell(0, 0, "x")]}}],
        groups=[{"label": "list", "children": texts(2)}],
        body={"children": refs("#/groups/0")},
    )

    assert [kind for kind, _ in kinds_and_texts(parsed(value))] == ["list", "table"]


def test_a_hundred_levels_of_nesting_are_read():
    groups = [{"label": "list", "children": refs(f"#/groups/{n + 1}")} for n in range(5_000)]
    groups.append({"label": "list", "children": refs("#/texts/0")})
    value = document(
        texts=[text(0, "deep", "list_item")], groups=groups, body={"children": refs("#/groups/0")}
    )

    assert parsed(value).blocks[0].text.strip() == "- deep"


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


def test_forms_are_their_words():
    cells = [{"text": "Name"}, {"text": "Anna"}, {"orig": "x"}]
    value = document(
        form_items=[{"label": "form", "graph": {"cells": cells}}],
        body={"children": refs("#/form_items/0")},
    )

    assert kinds_and_texts(parsed(value)) == [("paragraph", "Name\nAnna\nx")]

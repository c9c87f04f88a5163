"""Tables, pictures, code and forms of a DoclingDocument with their captions: CASES E."""

import pytest

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


def test_forms_are_their_words():
    cells = [{"text": "Name"}, {"text": "Anna"}, {"orig": "x"}]
    value = document(
        form_items=[{"label": "form", "graph": {"cells": cells}}],
        body={"children": refs("#/form_items/0")},
    )

    assert kinds_and_texts(parsed(value)) == [("paragraph", "Name\nAnna\nx")]


def test_what_a_form_says_of_other_texts_is_said_once():
    """A cell may point to the text that it was found in; the caption of a form is its own."""
    cells = [{"text": "Name", "item_ref": {"$ref": "#/texts/0"}}, {"text": "Anna"}]
    value = document(
        texts=[text(0, "Name"), text(1, "表单 1", "caption")],
        key_value_items=[
            {"label": "form", "captions": refs("#/texts/1"), "graph": {"cells": cells}},
        ],
        body={"children": refs("#/texts/0", "#/texts/1", "#/key_value_items/0")},
    )

    assert kinds_and_texts(parsed(value)) == [("paragraph", "Name"), ("paragraph", "表单 1\nAnna")]


def test_pictures_inside_a_picture_keep_what_is_said_of_them():
    value = document(
        texts=[text(0, "label"), text(1, "图 1a", "caption")],
        pictures=[
            {"label": "picture", "children": refs("#/texts/0", "#/pictures/1")},
            {
                "label": "chart",
                "captions": refs("#/texts/1"),
                "meta": {"description": {"text": "sales by year"}},
            },
        ],
        body={"children": refs("#/pictures/0")},
    )

    assert kinds_and_texts(parsed(value)) == [("image", "label\nsales by year\n图 1a")]


def test_a_caption_that_is_cut_into_runs_is_whole():
    value = document(
        texts=[
            text(0, "", "caption", children=refs("#/groups/0")),
            text(1, "Figure 1:"),
            text(2, "grep", "code"),
        ],
        groups=[{"label": "inline", "children": refs("#/texts/1", "#/texts/2")}],
        pictures=[{"label": "picture", "captions": refs("#/texts/0")}],
        body={"children": refs("#/pictures/0", "#/texts/0")},
    )

    assert kinds_and_texts(parsed(value)) == [("image", "Figure 1: `grep`")]


def test_footnotes_that_only_their_table_knows_follow_it():
    table = {"data": {"table_cells": [cell(0, 0, "x")]}, "footnotes": refs("#/texts/0")}
    picture = {"label": "picture", "references": refs("#/texts/1", "#/texts/2")}
    value = document(
        texts=[text(0, "* 含税", "footnote"), text(1, "see [1]"), text(2, "in the body")],
        tables=[table],
        pictures=[picture],
        body={"children": refs("#/tables/0", "#/pictures/0", "#/texts/2")},
    )

    assert [words for _, words in kinds_and_texts(parsed(value))[1:]] == [
        "* 含税",
        "see [1]",
        "in the body",
    ]


@pytest.mark.parametrize(
    "item",
    [
        {"pictures": [{"label": "picture", "meta": {"description": {"text": "logo"}}}]},
        {"tables": [{"data": {"table_cells": [cell(0, 0, "menu")]}}]},
        {"form_items": [{"label": "form", "graph": {"cells": [{"text": "search"}]}}]},
        {"groups": [{"label": "inline", "children": refs("#/texts/0")}]},
    ],
    ids=lambda item: next(iter(item)),
)
def test_layers_that_are_not_wanted_are_left_out_of_every_kind(item):
    ((kind, (node,)),) = item.items()
    value = document(
        texts=[text(0, "run")],
        body={"children": refs(f"#/{kind}/0")},
        **{kind: [node | {"content_layer": "furniture"}]},
    )

    assert parsed(value).blocks == ()
    assert parsed(value).warnings == ("furniture skipped: 1",)
    assert len(parsed(value, include_furniture=True).blocks) == 1

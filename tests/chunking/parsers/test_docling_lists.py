"""Lists of a DoclingDocument."""

from tests.chunking.parsers.docling_documents import (
    cell,
    document,
    kinds_and_texts,
    parsed,
    refs,
    text,
    texts,
)


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


def test_thousands_of_lists_and_pictures_in_each_other_are_read():
    count = 3_000
    items = [text(n, f"{n}.", "list_item", children=refs(f"#/pictures/{n}")) for n in range(count)]
    pictures = [
        {"label": "picture", "children": refs(f"#/groups/{n + 1}")} for n in range(count - 1)
    ]
    value = document(
        texts=items,
        groups=[{"label": "list", "children": refs(f"#/texts/{n}")} for n in range(count)],
        pictures=[*pictures, {"label": "picture", "meta": {"description": {"text": "last"}}}],
        body={"children": refs("#/groups/0")},
    )
    blocks = parsed(value).blocks

    assert [block.text for block in blocks[:2]] == ["- 0.", "- 1."]
    assert (len(blocks), blocks[-1].kind, blocks[-1].text) == (count + 1, "image", "last")


def test_a_list_lies_where_its_runs_lie():
    value = document(
        texts=[
            text(0, "", "list_item", children=refs("#/groups/1")),
            text(1, "甲", prov=[{"page_no": 7, "bbox": {"l": 1, "t": 2, "r": 3, "b": 4}}]),
        ],
        groups=[
            {"label": "list", "children": refs("#/texts/0")},
            {"label": "inline", "children": refs("#/texts/1")},
        ],
        body={"children": refs("#/groups/0")},
    )

    (block,) = parsed(value).blocks
    assert (block.text, block.page, block.bbox) == ("- 甲", 7, (1, 2, 3, 4))

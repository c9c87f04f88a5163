"""Cells of a DoclingDocument, rich and merged: CASES C11, C58."""

import pytest

from tests.chunking.parsers.docling_documents import cell, document, parsed, read, refs, text


def test_rich_cells_are_printed_once(data):
    """C58."""
    result = read(data, "docx_rich_cells.docx.json")
    tables = [block for block in result.blocks if block.kind == "table"]

    assert len(tables) == 7
    assert sum("A First" in block.text for block in result.blocks) == 1
    assert {block.kind for block in result.blocks} == {"heading", "table", "paragraph"}
    assert "Cell 1 Cell 2 Cell 3" in tables[1].text
    assert "base64" not in repr(result)


def test_a_cycle_of_rich_cells_ends():
    value = document(
        tables=[{"data": {"table_cells": [cell(0, 0, "", ref={"$ref": "#/groups/0"})]}}],
        groups=[{"label": "list", "children": refs("#/tables/0", "#/groups/0")}],
        body={"children": refs("#/tables/0")},
    )

    assert parsed(value).blocks == ()


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


def rich(words, **parts):
    """A table of one cell that says `words` and points to the group `#/groups/0`."""
    cells = [cell(0, 0, words, ref={"$ref": "#/groups/0"})]
    table = {"data": {"table_cells": cells}, "children": refs("#/groups/0")}
    return document(
        tables=[table, *parts.pop("tables", [])], body={"children": refs("#/tables/0")}, **parts
    )


@pytest.mark.parametrize("words", ["", "Lager"])
def test_pictures_in_a_cell_keep_what_is_said_of_them(words):
    value = rich(
        words,
        texts=[text(0, "Lager"), text(1, "图 1", "caption")],
        pictures=[
            {
                "label": "picture",
                "captions": refs("#/texts/1"),
                "meta": {"description": {"text": "a duck"}},
            }
        ],
        groups=[{"label": "unspecified", "children": refs("#/texts/0", "#/pictures/0")}],
    )

    assert parsed(value).blocks[0].text == "| Lager a duck 图 1 |\n| --- |"
    assert len(parsed(value).blocks) == 1


def test_a_table_in_a_cell_is_kept_where_the_cells_own_words_lack_it():
    value = rich(
        "A nested\ntable",
        texts=[text(0, "A nested  table")],
        tables=[{"data": {"table_cells": [cell(0, 0, "A"), cell(0, 1, "甲")]}}],
        groups=[{"label": "unspecified", "children": refs("#/texts/0", "#/tables/1")}],
    )

    assert parsed(value).blocks[0].text == "| A nested table A 甲 |\n| --- |"

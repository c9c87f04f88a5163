"""Tables of a DoclingDocument: cells with offsets and spans, some of which are rich."""

from collections import Counter
from collections.abc import Iterator

from chunking.parsers.docling_tree import Item, Tree
from chunking.parsers.fields import list_of, mapping_of, mappings_of, text_of, whole_of
from chunking.parsers.pipe_tables import Cell, pipe_table


def docling_table(table: Item, tree: Tree, tally: Counter[str]) -> tuple[str, set[str]]:
    """Print a table, and name the groups that its rich cells point to.

    A rich cell's own text is a copy of what its group holds, often without what is said of
    pictures; words of the group that it lacks come behind it.
    """
    cells: list[Cell] = []
    groups: set[str] = set()
    for cell in _cells(table):
        reference = mapping_of(cell.get("ref")).get("$ref")
        text = text_of(cell.get("text"), tally)
        if isinstance(reference, str):
            groups.add(reference)
            words = _group_words(reference, tree, tally)
            text = " ".join(filter(None, [text, *_words_lacking(text, words)]))
        cells.append(
            Cell(
                row=whole_of(cell.get("start_row_offset_idx")) or 0,
                column=whole_of(cell.get("start_col_offset_idx")) or 0,
                text=text,
                row_span=whole_of(cell.get("row_span")) or 1,
                column_span=whole_of(cell.get("col_span")) or 1,
                is_header=cell.get("column_header") is True,
            )
        )
    return pipe_table(cells), groups


def _words_lacking(text: str, words: list[str]) -> list[str]:
    """What a text does not hold, however it is spaced; what stands there once, holds once."""
    rest = "".join(text.split())
    lacking: list[str] = []
    for some in words:
        before, held, after = rest.partition("".join(some.split()))
        if held:
            rest = f"{before}\0{after}"
        else:
            lacking.append(some)
    return lacking


def _group_words(reference: str, tree: Tree, tally: Counter[str]) -> list[str]:
    """All words of a group, with those of tables and pictures in it, in order; each item once."""
    words: list[str] = []
    stack: list[str | tuple[str]] = [reference]  # references, and words that are ready, in a tuple
    while stack:
        entry = stack.pop()
        if isinstance(entry, tuple):
            words += entry
            continue
        item = tree.meet(entry)
        if item is None:
            continue
        words += [tree.words(item), *tree.descriptions(item)]
        cells = list(_cells(item))
        captions = tree.captions(item)
        stack += [
            child for child in tree.children(item)[::-1] if not cells and child not in captions
        ]
        stack += [_cell_words(cell, tally) for cell in reversed(cells)]
        stack += captions[::-1]
    return list(filter(str.strip, words))


def _cell_words(cell: Item, tally: Counter[str]) -> str | tuple[str]:
    text = text_of(cell.get("text"), tally)
    reference = mapping_of(cell.get("ref")).get("$ref")
    return reference if isinstance(reference, str) and not text else (text,)


def _cells(table: Item) -> Iterator[Item]:
    """Each cell once, also from a file that has only the grid, which repeats merged cells."""
    data = mapping_of(table.get("data"))
    cells = mappings_of(data.get("table_cells"))
    if cells:
        yield from cells
        return
    for row, entries in enumerate(list_of(data.get("grid"))):
        for column, cell in enumerate(list_of(entries)):
            first = mapping_of(cell)
            row_start = whole_of(first.get("start_row_offset_idx"))
            column_start = whole_of(first.get("start_col_offset_idx"))
            if row_start in {row, None} and column_start in {column, None} and first:
                yield {"start_row_offset_idx": row, "start_col_offset_idx": column} | first

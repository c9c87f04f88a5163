"""One way to print a table: a grid of cells as a Markdown pipe table."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chunking.text import clean_text, is_blank

_MAX_PADDED_CELLS = 1_000_000
"""Beyond it short rows stay short: one wide row over many narrow ones would grow without bound."""
_MAX_COLUMNS = 1_000
"""Of a spanning cell, as in the HTML standard."""
_MAX_SPANNED_COLUMNS = 256
"""With cells over several rows; of columns beyond it such cells stand in their first row only."""
_MAX_HEADER_ROWS = 3
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell at its first place; what it spans is counted in rows and columns."""

    row: int
    column: int
    text: str
    row_span: int = 1
    column_span: int = 1
    is_header: bool = False


def pipe_table(cells: Iterable[Cell]) -> str:
    """Print cells as a pipe table; "" when there is nothing in them to see.

    The first row stands above the separator: it is the header where the source names one, and the
    best guess where not. A label that spans rows is repeated in each of them, unless it belongs to
    the header; one that spans columns is printed once, with empty cells behind it. Every row has
    the same number of cells; rows with nothing in them are left out.
    """
    cells = sorted(cells, key=lambda cell: (cell.row, cell.column))
    rows = sorted({cell.row for cell in cells})
    grid: dict[int, dict[int, str]] = {row: {} for row in rows}
    first = [cell for cell in cells if cell.row == rows[0]]
    names_groups = any(cell.column_span > 1 for cell in first)
    filled = 0
    for cell in cells:
        text = escape_cell(cell.text)
        grid[cell.row].setdefault(cell.column, text)
        is_header = cell.is_header or (
            cell.row == rows[0] and names_groups and cell.row_span <= _MAX_HEADER_ROWS
        )
        if text and not is_header and filled < _MAX_PADDED_CELLS:
            begin = bisect_right(rows, cell.row)
            end = bisect_left(rows, cell.row + cell.row_span)
            for row in rows[begin:end]:
                grid[row].setdefault(cell.column, text)
            filled += max(end - begin, 0)
    printed = [row for row in grid.values() if any(row.values())]
    return _print(printed, sorted({column for row in printed for column in row}))


def escape_cell(text: str) -> str:
    """Give `text` as it may stand between two pipes: on one line, its own pipes escaped."""
    text = _BLANKS.sub(" ", clean_text(text)).strip()
    return "" if is_blank(text) else text.replace("|", "\\|")


def place_cells(rows: Iterable[Sequence[tuple[str, int, int, bool]]]) -> list[Cell]:
    """Find each cell's column from the rows of a table that has spans (HTML, section 4.9.12).

    Args:
        rows: Per row its own cells: text, row span (0: to the last row), column span, header.
    """
    cells: list[Cell] = []
    blocked: dict[int, int] = {}  # column -> first row that is free again
    for row, entries in enumerate(rows):
        column = 0
        for text, row_span, column_span, is_header in entries:
            while blocked.get(column, 0) > row:
                column += 1
            width = min(max(column_span, 1), _MAX_COLUMNS)
            height = row_span if row_span > 0 else 1 << 30
            cells.append(
                Cell(
                    row=row,
                    column=column,
                    text=text,
                    row_span=height,
                    column_span=width,
                    is_header=is_header,
                )
            )
            if height > 1 and len(blocked) < _MAX_SPANNED_COLUMNS:
                blocked.update(dict.fromkeys(range(column, column + width), row + height))
            column += width
    return cells


def _print(rows: list[dict[int, str]], columns: list[int]) -> str:
    if not rows:
        return ""
    if len(rows) * len(columns) > _MAX_PADDED_CELLS:
        lines = [_line(list(row.values())) for row in rows]
    else:
        lines = [_line([row.get(column, "") for column in columns]) for row in rows]
    lines.insert(1, "|" + " --- |" * len(columns))
    return "\n".join(lines)


def _line(texts: list[str]) -> str:
    return "| " + " | ".join(texts) + " |"

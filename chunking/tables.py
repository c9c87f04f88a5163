"""Stage 2, tables: by rows, and each part says again what its columns are."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chunking.atoms import escape_fence, has_fence, is_separator
from chunking.budget import Room
from chunking.packing import fill
from chunking.running import split_running
from chunking.sentences import SentenceSplitter
from chunking.text import is_blank

_CELL_END = re.compile(r"(?<!\\)\|")
_LETTER = re.compile(r"[^\W\d_]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MAX_GROUP_ROWS = 2


@dataclass(frozen=True, slots=True)
class Table:
    """The lines of a pipe table by what they are. Blank lines are left out."""

    caption: tuple[str, ...]
    header: tuple[str, ...]
    """The header line and the separator, where they exist."""
    groups: tuple[str, ...]
    """Second-level headers: rows right below the separator that name groups of columns."""
    rows: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        return self.caption + self.header + self.groups + self.rows


def is_pipe_table(text: str) -> bool:
    """Whether lines are rows. What a parser took for a table may be text, or hold a code fence."""
    return "|" in text and not has_fence(text)


def read_table(text: str, caption: str = "") -> Table:
    """Sort the lines of a table block.

    The header is the line above the separator, what stands before it is caption. Without a
    separator the first line with a pipe is taken for the header.
    """
    lines = [line for line in text.split("\n") if not is_blank(line)]
    separator = next((at for at, line in enumerate(lines) if is_separator(line)), None)
    if separator is None:
        at = next((at for at, line in enumerate(lines) if "|" in line), 0)
        end = at + 1 if len(lines) > at + 1 and "|" in lines[at] else at
    else:
        at, end = max(separator - 1, 0), separator + 1
    before, header, rows = lines[:at], lines[at:end], lines[end:]
    if caption:
        before = [caption, *before]
    groups = _group_rows(rows) if separator is not None else 0
    return Table(tuple(before), tuple(header), tuple(rows[:groups]), tuple(rows[groups:]))


def split_table(table: Table, room: Room, split: SentenceSplitter) -> Iterator[str]:
    """Pack whole rows; each part repeats caption, header and second-level headers.

    What does not fit beside a row gives way in this order: caption (it stays in the first part),
    second-level headers, header. A row too wide to stand with the header goes without it; one too
    wide to stand alone is cut at cells, then like prose.
    """
    rows = table.rows
    heads = _heads(table)
    lead = table.caption + table.header + table.groups
    first = 0
    while first < len(rows):
        head = next(
            (head for head in heads if room.fits(_text(head, rows[first : first + 1]))), None
        )
        if head is None:
            pieces = _cut_row(rows[first], room, split)
            last = first + 1
        else:
            last = _fill(rows, first, head, heads, room)
            pieces = [_text(head, rows[first:last])]
        if first == 0 and head != lead:
            pieces = _with_lead(table, head, pieces, room, split)
        yield from pieces
        first = last
    if not rows:
        yield from _cut_lead(table, room, split)


def _fill(
    rows: Sequence[str],
    first: int,
    head: tuple[str, ...],
    heads: Sequence[tuple[str, ...]],
    room: Room,
) -> int:
    limit = room.tokens - (room.counter.count(_text(head, ("",))) if head else 0)
    last = fill(
        lambda at: room.counter.count(rows[at] + "\n"),
        first,
        len(rows),
        limit,
        lambda i, j: room.fits(_text(head, rows[i:j])),
    )
    if head or len(heads) == 1:
        return last
    smallest = heads[-2]  # only rows too wide to stand with it go without
    alone = first + 1
    while alone < last and not room.fits(_text(smallest, rows[alone : alone + 1])):
        alone += 1
    return alone


def _heads(table: Table) -> list[tuple[str, ...]]:
    """What a part may repeat, the fullest first."""
    full = (table.caption + table.header + table.groups, table.header + table.groups, table.header)
    return list(dict.fromkeys((*full, ())))


def _with_lead(
    table: Table,
    head: tuple[str, ...] | None,
    pieces: list[str],
    room: Room,
    split: SentenceSplitter,
) -> list[str]:
    """Put what the first part does not repeat before it: in a part of its own, if it must be."""
    if head and head == table.header + table.groups:
        return [*split_running("\n".join(table.caption), room, split), *pieces]
    lead = _cut_lead(table, room, split)
    if lead and pieces and not head and room.fits(joined := lead[-1] + "\n" + pieces[0]):
        return [*lead[:-1], joined, *pieces[1:]]
    return lead + pieces


def _cut_lead(table: Table, room: Room, split: SentenceSplitter) -> list[str]:
    """Caption, header and second-level headers in as few parts as they need."""
    units = [
        unit for unit in (table.caption, table.header, *((row,) for row in table.groups)) if unit
    ]
    parts: list[str] = []
    for unit in units:
        text = "\n".join(unit)
        if parts and room.fits(joined := parts[-1] + "\n" + text):
            parts[-1] = joined
        elif room.fits(text):
            parts.append(text)
        elif unit is table.caption:
            parts += split_running(text, room, split)
        else:  # a separator says nothing beside a header that is cut
            for line in unit:
                parts += [] if is_separator(line) else _cut_row(line, room, split)
    return parts


def _cut_row(row: str, room: Room, split: SentenceSplitter) -> list[str]:
    """Cut a row at its cells; a cell too wide even alone is cut like prose, without pipes."""
    cells = split_cells(row)

    def size_of(at: int) -> int:
        return room.counter.count(cells[at] + "|")

    def line(first: int, last: int) -> str:
        return "|" + "|".join(cells[first:last]) + "|"

    def fits(first: int, last: int) -> bool:
        return room.fits(line(first, last))

    pieces: list[str] = []
    first = 0
    while first < len(cells):
        if fits(first, first + 1):
            last = fill(size_of, first, len(cells), room.tokens, fits)
            if not all(map(is_blank, cells[first:last])):
                pieces.append(line(first, last))
        else:
            last = first + 1
            pieces += split_running(escape_fence(cells[first].strip()), room, split)
        first = last
    return pieces


def _text(head: Sequence[str], rows: Sequence[str]) -> str:
    return "\n".join((*head, *rows))


def _group_rows(rows: Sequence[str]) -> int:
    """How many rows below the separator are second-level headers."""
    count = 0
    for row in rows[:_MAX_GROUP_ROWS]:
        first, *others = split_cells(row) or [""]
        names = [cell for cell in others if not is_blank(cell)]
        if not is_blank(first) or not names or not all(map(_is_name, names)):
            break
        count += 1
    has_labels = count and any(not is_blank((split_cells(row) or [""])[0]) for row in rows[count:])
    return count if has_labels else 0


def _is_name(cell: str) -> bool:
    return bool(_LETTER.search(cell) or _YEAR.fullmatch(cell.strip()))


def split_cells(row: str) -> list[str]:
    """The cells of a row as they stand; pipes at its ends are no cells."""
    inner = row.strip(" \t>")
    cells = _CELL_END.split(inner)
    if cells[0] == "":
        cells = cells[1:]
    if len(cells) > 1 and cells[-1] == "":
        cells = cells[:-1]
    return cells

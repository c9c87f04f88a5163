"""Stage 2, prose: whole paragraphs and list items, then whole sentences, then windows."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chunking.atoms import Atom, atoms, blank_markers, read_fence
from chunking.budget import Room
from chunking.code import MIN_LIMIT, fence_of, room_between, split_code
from chunking.packing import carry_over, fill
from chunking.running import body_at, running_spans, trim
from chunking.sections import Part
from chunking.sentences import SentenceSplitter
from chunking.tables import read_table, split_table
from chunking.text import is_blank

_MIN_WINDOW = 8
"""Tokens under which an overlap between two windows is not worth its pieces."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of the section's text that is packed whole."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A body, with the parts of the section that it is made of."""

    text: str
    parts: Sequence[Part]
    start: int | None
    """Where it begins in the text of the first of them, when it is a verbatim piece."""


def split_prose(
    parts: Sequence[Part], room: Room, overlap: int, split: SentenceSplitter
) -> Iterator[Passage]:
    """Cut a section of prose into passages that fit.

    Whole units are packed while they fit; the next passage repeats the last few of them, up to
    `overlap` tokens. A fence or a table inside a list is cut by its own rule, where it must be.
    """
    text = "\n\n".join([part.text for part in parts])
    if room.fits(text):
        yield Passage(text, parts, 0)
        return
    starts = _starts(parts)
    for run in _runs(text, parts, starts, room, overlap, split):
        if isinstance(run, Passage):
            yield run
            continue
        for first, last in _pack(text, run, room, overlap):
            start, end = trim(text, first, last)
            if is_blank(text[start:end]):
                continue
            inside = slice(bisect_right(starts, start) - 1, bisect_right(starts, end - 1))
            body = body_at(text, first, last)
            yield Passage(body, parts[inside], start - starts[inside.start])


def _starts(parts: Sequence[Part]) -> list[int]:
    starts, position = [], 0
    for part in parts:
        starts.append(position)
        position += len(part.text) + 2
    return starts


def _runs(
    text: str,
    parts: Sequence[Part],
    starts: Sequence[int],
    room: Room,
    overlap: int,
    split: SentenceSplitter,
) -> Iterator[list[Unit] | Passage]:
    """Units to be packed together, and between them passages that are cut already."""
    units: list[Unit] = []
    for part, start in zip(parts, starts, strict=True):
        end = start + len(part.text)
        if room.fits(part.text):
            units.append(Unit(start, min(end + 2, len(text))))
            continue
        for group in item_groups(part, room):
            first, last = start + group[0].start, start + group[-1].end
            if room.fits(body_at(text, first, last)):
                units.append(Unit(first, last))
            elif group[0].kind == "text":
                window = overlap if overlap >= _MIN_WINDOW else room.tokens
                spans = running_spans(text, first, last, room, split, window_tokens=window)
                units += [Unit(a, b) for a, b in spans]
            else:
                yield units
                units = []
                for piece in split_atom(text[first:last], group[0], room, split):
                    yield Passage(piece, (part,), None)
    yield units


def item_groups(part: Part, room: Room) -> Iterator[list[Atom]]:
    """Cut a part at its list items, outermost first, only as deep as it must be."""
    stack = [list(atoms(part.text))]
    while stack:
        group = stack.pop()
        if len(group) == 1 or room.fits(body_at(part.text, group[0].start, group[-1].end)):
            yield group
        else:
            stack.extend(reversed(_subgroups(group)))


def _subgroups(group: list[Atom]) -> list[list[Atom]]:
    indents = [atom.indent for atom in group if atom.is_item]
    if not indents:
        return [[atom] for atom in group]
    outermost = min(indents) + 1
    heads = [at for at, atom in enumerate(group) if atom.is_item and atom.indent <= outermost]
    if heads == [0]:
        return [group[:1], group[1:]]
    cuts = sorted({0, *heads, len(group)})
    return [group[a:b] for a, b in pairwise(cuts)]


def split_atom(body: str, atom: Atom, room: Room, split: SentenceSplitter) -> Iterator[str]:
    """Cut a table or a fence that stands inside prose by the rule of its own kind."""
    if atom.kind == "table":
        yield from split_table(read_table(body), room, split)
        return
    fence = read_fence(body)
    lead, info, code = fence.lead, fence.info, fence.code
    words = ""  # of the opening line, where they have no room in it
    if len(lead) > room.tokens // 4:
        words, lead, info = lead + info, "", ""
    elif len(info.encode()) > room.tokens // 4:
        words, info = info, ""
    opening, closing = fence_of(code, info, fence.mark)
    margin = blank_markers(lead)
    opening, closing = lead + opening, margin + closing
    if room_between(opening, margin + closing, room) < MIN_LIMIT:  # it stands without a fence
        words = lead + (words or info)
    if any(map(str.isalnum, words)):
        code = f"{margin}{words.strip()}\n{code}"
    if is_blank(code):
        empty = f"{opening}\n{closing}"
        yield from [empty] if room.fits(empty) else []
    else:
        yield from split_code(code, opening, closing, room, margin)


def _pack(text: str, units: Sequence[Unit], room: Room, overlap: int) -> Iterator[tuple[int, int]]:
    """Greedy packs of units as (start, end) of their text."""

    def fits(first: int, last: int) -> bool:
        return room.fits(body_at(text, units[first].start, units[last - 1].end))

    def size_of(at: int) -> int:
        return room.counter.count(text[units[at].start : units[at].end])

    first = 0
    while first < len(units):
        last = fill(size_of, first, len(units), room.tokens, fits)
        yield units[first].start, units[last - 1].end
        if last == len(units):
            return
        first = carry_over(size_of, first, last, overlap=overlap, limit=room.tokens, fits=fits)

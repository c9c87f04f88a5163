"""Stage 2, code: by lines, each piece in a complete fence of its own."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

from chunking.atoms import escape_fence
from chunking.budget import Room
from chunking.packing import fill
from chunking.running import split_running
from chunking.sentences import split_sentences
from chunking.text import clean_text, is_blank
from chunking.windows import windows

_RUNS = {"`": re.compile("`{3,}"), "~": re.compile("~{3,}")}
MIN_LIMIT = 8
"""Tokens between two fences that hold any character with its line end."""
_MAX_MARK = 64
"""Signs of a fence at most: it has to leave room for the code."""
_LINE = re.compile(r"(?:[^\S\n]*\n)*.+(?:\n(?:[^\S\n]*\n)*)?")
"""A line with the blank lines behind it, the very first with those before it too."""


def fence_of(code: str, language: str, mark: str = "```") -> tuple[str, str]:
    """Opening and closing line for `code`, longer than any run of their sign inside.

    `mark` is taken where it can be; tildes serve where backticks would have to be too many.
    """
    fence = ""
    for sign in (mark[0], "`", "~"):
        longest = max(map(len, _RUNS[sign].findall(code))) if sign * 3 in code else 0
        fence = sign * max(longest + 1, len(mark) if sign == mark[0] else 3)
        if len(fence) <= _MAX_MARK:
            break
    fence = fence[:_MAX_MARK]
    return fence + language, fence


def fit_language(language: str, room: Room) -> str:
    """The info string of a fence: on one line, without backticks, and short beside the code."""
    if not language:
        return ""
    info = _info(language)
    for wanted in (info, info.partition(" ")[0]):
        if len(wanted.encode()) <= room.tokens // 4:  # a token has one byte at least
            return wanted
    return ""


@lru_cache(maxsize=1024)
def _info(language: str) -> str:
    return " ".join(clean_text(language).replace("`", "").split())


def room_between(opening: str, closing: str, room: Room) -> int:
    """Tokens left for code between two lines of a fence."""
    return room.tokens - room.counter.count(opening + "\n") - room.counter.count(closing)


def split_code(
    code: str, opening: str, closing: str, room: Room, margin: str = ""
) -> Iterator[str]:
    """Pack lines into fences that fit. Only a line too long for one is cut, and stands alone.

    Without the fences the pieces, joined by line breaks (those of a line that was cut by nothing),
    are the code byte for byte. Blank lines stay with the line before them. Where the budget leaves
    no room for a fence (under a heading, some 24 tokens), the code goes without.

    `margin` keeps a line inside the list item or quotation of its fence; the lines of `code` have
    theirs, the rest of a line that is cut gets it.
    """

    def fenced(lines: str) -> str:
        return "\n".join((opening, lines.removesuffix("\n"), closing))

    def size_of(at: int) -> int:
        return room.counter.count(lines[at])

    def fits(first: int, last: int) -> bool:
        return room.fits(fenced("".join(lines[first:last])))

    limit = room_between(opening, margin + closing, room)
    if limit < MIN_LIMIT:
        text = "\n".join(map(escape_fence, code.split("\n")))
        yield from split_running(text, room, split_sentences)
        return
    lines = _LINE.findall(code + "\n")
    first = 0
    while first < len(lines):
        if fits(first, first + 1):
            last = fill(size_of, first, len(lines), limit, fits)
            yield fenced("".join(lines[first:last]))
            first = last
        else:
            yield from _cut_line(lines[first], limit, room, fenced, margin)
            first += 1


def _cut_line(
    line: str, limit: int, room: Room, fenced: Callable[[str], str], margin: str
) -> Iterator[str]:
    """Fences for the pieces of one line; the blank lines behind it stay with the last."""
    code = line.rstrip()

    def piece(start: int, end: int) -> str:
        return (margin if start else "") + code[start:end]

    ends = windows(
        code, 0, len(code), room.counter, limit, lambda a, b: room.fits(fenced(piece(a, b)))
    )
    spans = [span for span in pairwise((0, *ends)) if not is_blank(code[slice(*span)])]
    *before, last = [piece(*span) for span in spans]
    yield from map(fenced, before)
    whole = fenced(last + line[len(code) :])
    yield whole if room.fits(whole) else fenced(last)

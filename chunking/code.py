"""Stage 2, code: by lines, each piece in a complete fence of its own."""

import re
from collections.abc import Callable, Iterator

from chunking.budget import Room
from chunking.packing import fill
from chunking.text import clean_text, is_blank
from chunking.windows import windows

_RUN = re.compile("`{3,}")
_LINE = re.compile(r"(?:[^\S\n]*\n)*.+(?:\n(?:[^\S\n]*\n)*)?")
"""A line with the blank lines behind it, the very first with those before it too."""


def fence_of(code: str, language: str) -> tuple[str, str]:
    """Opening and closing line for `code`, longer than any run of backticks inside."""
    longest = max(map(len, _RUN.findall(code))) if "```" in code else 2
    mark = "`" * (longest + 1)
    return mark + language, mark


def fit_language(language: str, room: Room) -> str:
    """The info string of a fence: on one line, without backticks, and short beside the code."""
    info = " ".join(clean_text(language).replace("`", "").split())
    for wanted in (info, info.partition(" ")[0]):
        if len(wanted.encode()) <= room.tokens // 4:  # a token has one byte at least
            return wanted
    return ""


def split_code(code: str, opening: str, closing: str, room: Room) -> Iterator[str]:
    """Pack lines into fences that fit. Only a line too long for one is cut, and stands alone.

    Without the fences the pieces, joined by line breaks (those of a line that was cut by nothing),
    are the code byte for byte. Blank lines stay with the line before them.
    """

    def fenced(lines: str) -> str:
        return "\n".join((opening, lines.removesuffix("\n"), closing))

    def fits(first: int, last: int) -> bool:
        return room.fits(fenced("".join(lines[first:last])))

    lines = _LINE.findall(code + "\n")
    sizes = [room.counter.count(line) for line in lines]
    limit = room.tokens - room.counter.count(opening + "\n") - room.counter.count(closing)
    first = 0
    while first < len(lines):
        if fits(first, first + 1):
            last = fill(sizes, first, limit, fits)
            yield fenced("".join(lines[first:last]))
            first = last
        else:
            yield from _cut_line(lines[first], limit, room, fenced)
            first += 1


def _cut_line(line: str, limit: int, room: Room, fenced: Callable[[str], str]) -> Iterator[str]:
    text = line.rstrip()
    pieces = [
        piece
        for piece in windows(text, room.counter, limit, lambda piece: room.fits(fenced(piece)))
        if not is_blank(piece)
    ]
    blank_lines = line[len(text) :]
    for piece in pieces[:-1]:
        yield fenced(piece)
    for piece in pieces[-1:]:
        whole = fenced(piece + blank_lines)
        yield whole if room.fits(whole) else fenced(piece)

"""`recursive`: the coarsest separator that gives pieces small enough, each level in its turn."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from chunking.assemble import Piece
from chunking.budget import Room
from chunking.flow import Flow, Span, Unit, plain_flow
from chunking.graphemes import grapheme_windows
from chunking.ranges import Units, pack
from chunking.strategies.chunker import Work
from chunking.strategies.options import check_size

SEPARATORS = (
    r"(?m)^(?=#{1,6}[ \t])",  # a Markdown heading
    r"(?m)^(?=[ \t]*(?:\d{1,3}\.)+(?:\d{1,3})?[ \t]+\S)",  # a numbered one: 1. 2.3. 2.3
    r"\n[^\S\n]*\n\s*",  # a blank line
    r"\n",
    r"[^\S\n]+",
    "",  # anywhere between two graphemes
)

_MIN_WINDOW = 8
"""Size under which an overlap between two windows is not worth its pieces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recursive:
    """Pieces between separators, packed up to `size`; a piece too long is cut by the next one."""

    NAME: ClassVar[str] = "recursive"
    VERSION: ClassVar[int] = 1
    UNIT: ClassVar[str] = "chars"

    size: int = 700
    overlap: int = 100
    """Whole pieces repeated from the chunk before, at most."""
    separators: tuple[str, ...] = SEPARATORS
    """Regular expressions, the coarsest first. A piece ends behind what is matched, which stays
    with it; "" cuts between any two graphemes."""

    def __post_init__(self) -> None:
        check_size("size", self.size)
        check_size("overlap", self.overlap, least=0, below=("size", self.size))
        object.__setattr__(self, "separators", tuple(self.separators))  # TOML gives a list
        for separator in self.separators:
            try:
                re.compile(separator)
            except (re.error, TypeError) as error:
                raise ValueError(
                    f"separators: {separator!r} is no regular expression ({error})."
                ) from None

    def cut(self, work: Work) -> Iterator[Piece]:
        for section in work.sections:
            room = work.options.room(section.heading_path, self.size)
            flow = plain_flow(section, room)
            yield from flow.pieces(
                recursive_spans(flow, (0, len(flow.text)), room, self.overlap, self.separators),
                room,
            )


def recursive_spans(
    flow: Flow,
    span: Span,
    room: Room,
    overlap: int,
    separators: Sequence[str] = SEPARATORS,
) -> list[Span]:
    """Spans of at most the room. What a finer separator had to cut is packed for itself."""
    window = overlap if overlap >= _MIN_WINDOW else room.tokens
    patterns = [re.compile(separator) if separator else None for separator in separators]
    units: list[Unit] = []
    breaks: list[int] = []
    for (start, end), opens in _pieces(flow, span, room, patterns, window):
        if opens and units:
            breaks.append(len(units))
        units.append(Unit(start, end))
    sized = Units.of(flow, units, room.counter)
    return [sized.span(reach) for reach in pack(sized, room, overlap=overlap, breaks=breaks)]


def _pieces(
    flow: Flow,
    span: Span,
    room: Room,
    patterns: Sequence[re.Pattern[str] | None],
    window: int,
) -> Iterator[tuple[Span, bool]]:
    """Pieces that fit, and whether each is the first after one that did not, or within it."""

    def fits(start: int, end: int) -> bool:
        return room.fits(flow.body(start, end))

    pattern = patterns[0] if patterns else None
    opens = True
    for start, end in _between(flow.text, span, pattern) if pattern else [span]:
        if fits(start, end):
            yield (start, end), opens
            opens = False
        elif pattern:
            yield from _pieces(flow, (start, end), room, patterns[1:], window)
            opens = True
        else:
            begin = start
            for cut in grapheme_windows(flow.text, start, end, room.counter, window, fits):
                yield (begin, cut), begin == start
                begin = cut


def _between(text: str, span: Span, pattern: re.Pattern[str]) -> Iterator[Span]:
    start, end = span
    for match in pattern.finditer(text, start, end):
        if start < match.end() < end:
            yield start, match.end()
            start = match.end()
    yield start, end

"""`fixed`: windows by length alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from chunking.assemble import Piece
from chunking.budget import Room
from chunking.flow import Flow, Span, plain_flow
from chunking.graphemes import grapheme_after, longest_window
from chunking.strategies.chunker import Work
from chunking.strategies.options import check_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """The baseline to compare with: it knows no sentence, row or line, only graphemes."""

    NAME: ClassVar[str] = "fixed"
    VERSION: ClassVar[int] = 1
    UNIT: ClassVar[str] = "chars"

    size: int = 600
    overlap: int = 90

    def __post_init__(self) -> None:
        check_size("size", self.size)
        check_size("overlap", self.overlap, least=0, below=("size", self.size))

    def cut(self, work: Work) -> Iterator[Piece]:
        for section in work.sections:
            room = work.options.room(section.heading_path, self.size)
            flow = plain_flow(section, room)
            yield from flow.pieces(_windows(flow, room, self.overlap), room)


def _windows(flow: Flow, room: Room, overlap: int) -> Iterator[Span]:
    """Spans of the flow, each as long as fits; one begins at most `overlap` before the last ends.

    Where a window is short (the heading took its share) no more than half of it is repeated.
    """
    text, count, head = flow.text, room.counter.count, room.counter.head

    def fits(start: int, end: int) -> bool:
        return room.fits(flow.body(start, end))

    start = 0
    while start < len(text):
        end = longest_window(text, start, len(text), room.counter, room.tokens, fits)
        yield start, end
        if end == len(text):
            return
        window = text[start:end]
        held = count(window)
        step = head(window, 0, held - min(overlap, held // 2))
        start = grapheme_after(text, start, start + step, end)

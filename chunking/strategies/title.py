"""`title`: by heading, then refined, so that pieces are neither fragments nor too large."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from chunking.assemble import Piece
from chunking.atoms import escape_fence
from chunking.flow import unit_flow
from chunking.ranges import Units, join_short, pack, with_overlap
from chunking.sections import Section
from chunking.strategies.chunker import Work
from chunking.strategies.options import LEAST_SIZE, Options, check_size
from chunking.text import clean_text

_SPARE = 6
"""Of each size, kept free for the number of the part behind the title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """Each section under its own title. Sizes are of the content, title included."""

    NAME: ClassVar[str] = "title"
    VERSION: ClassVar[int] = 1
    UNIT: ClassVar[str] = "chars"

    max_size: int = 1_000
    """What a chunk never exceeds."""
    size: int = 600
    """A longer section is cut to pieces of about this."""
    overlap: int = 50
    """Whole sentences repeated from the chunk before, at most."""
    min_size: int = 400
    """Pieces shorter than this join a neighbour of their section, up to `max_size`."""

    def __post_init__(self) -> None:
        check_size("max_size", self.max_size, least=LEAST_SIZE)
        check_size("size", self.size, least=LEAST_SIZE, most=("max_size", self.max_size))
        check_size("min_size", self.min_size, least=0, most=("max_size", self.max_size))
        check_size("overlap", self.overlap, least=0, below=("size", self.size))

    def cut(self, work: Work) -> Iterator[Piece]:
        for section in work.sections:
            for piece in self._section(section, work):
                yield _numbered(piece, work.options) if piece.is_cut else piece

    def _section(self, section: Section, work: Work) -> Iterator[Piece]:
        path, options, split = section.heading_path, work.options, work.options.sentences()
        title = path[-1] if path else " ".join(clean_text(work.document.file_title).split())
        for _ in range(2):  # where it is cut, it may begin a fence that it did not begin before
            room = options.room_under(escape_fence(title), self.size - _SPARE)
            title = room.prefix.removesuffix("\n")
        largest = options.room_under(title, self.max_size - _SPARE)
        flow, inside = unit_flow(section, largest, split, prose_room=room)
        units = Units.of(flow, inside, room.counter)
        packed = pack(units, room)
        number = len(str(len(packed))) + 1 if len(packed) > 1 else 0
        largest = options.room_under(title, self.max_size - number)
        ranges = join_short(
            packed,
            lambda reach: units.size(reach) < self.min_size,
            lambda reach: largest.fits(units.body(reach)),
        )
        spans = with_overlap(units, map(units.span, ranges), largest, self.overlap, split)
        yield from flow.pieces(spans, room)


def _numbered(piece: Piece, options: Options) -> Piece:
    """With the number of the part behind the title, where the hard maximum leaves room for it."""
    title = piece.prefix.removesuffix("\n")
    prefix = f"{title}-{piece.part}\n" if title else ""
    has_room = options.tokens.count(prefix + piece.body) <= options.max_tokens
    return replace(piece, prefix=prefix) if has_room else piece

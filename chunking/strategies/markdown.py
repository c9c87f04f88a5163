"""`markdown`: the heading tree, with breadcrumbs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from chunking.assemble import Piece
from chunking.budget import Room
from chunking.flow import unit_flow
from chunking.ranges import Range, Units, join_short, pack, with_overlap
from chunking.sections import Section
from chunking.strategies.chunker import Work
from chunking.strategies.options import LEAST_SIZE, check_ratio, check_size

_BREADCRUMBS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Markdown:
    """Sections within `size` stay whole; longer ones are packed by paragraphs."""

    NAME: ClassVar[str] = "markdown"
    VERSION: ClassVar[int] = 1
    UNIT: ClassVar[str] = "chars"

    size: int = 900
    min_chunk: int = 250
    """Pieces shorter than this join their neighbour in the section, where both fit."""
    overlap_ratio: float = 0.1
    """Of `size`: whole sentences repeated from the chunk before, at most."""

    def __post_init__(self) -> None:
        check_size("size", self.size, least=LEAST_SIZE)
        check_size("min_chunk", self.min_chunk, least=0, most=("size", self.size))
        check_ratio("overlap_ratio", self.overlap_ratio)

    def cut(self, work: Work) -> Iterator[Piece]:
        for section in work.sections:
            yield from self._section(section, work)

    def _section(self, section: Section, work: Work) -> Iterator[Piece]:
        path, split = section.heading_path, work.options.sentences()
        heading = f"[{' > '.join(path[-_BREADCRUMBS:])}]" if path else ""
        room = work.options.room_under(heading, self.size)
        flow, inside = unit_flow(section, room, split)
        units = Units.of(flow, inside, room.counter)
        overlap = int(self.overlap_ratio * self.size)
        ranges = self._ranges(units, room, overlap)
        about = {
            "section_title": path[-1] if path else work.document.file_title,
            "breadcrumbs": list(path),
            "level": len(path),
        }
        spans = with_overlap(units, map(units.span, ranges), room, overlap, split)
        yield from flow.pieces(spans, room, lambda _: about)

    def _ranges(self, units: Units, room: Room, overlap: int) -> list[Range]:
        whole = (0, len(units.units))
        if units.units and room.fits(units.body(whole)):
            return [whole]
        packed = pack(units, room, limit=room.tokens - overlap)
        return join_short(
            packed,
            lambda reach: units.size(reach) < self.min_chunk,
            lambda reach: room.fits(units.body(reach)),
        )

"""`sentence`: whole sentences, packed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from chunking.assemble import Piece
from chunking.flow import Unit, plain_flow
from chunking.ranges import Units, pack
from chunking.running import running_spans
from chunking.strategies.chunker import Work
from chunking.strategies.options import check_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """Sentences packed up to `size`; the overlap is made of whole ones."""

    NAME: ClassVar[str] = "sentence"
    VERSION: ClassVar[int] = 1
    UNIT: ClassVar[str] = "chars"

    size: int = 600
    overlap: int = 90

    def __post_init__(self) -> None:
        check_size("size", self.size)
        check_size("overlap", self.overlap, least=0, below=("size", self.size))

    def cut(self, work: Work) -> Iterator[Piece]:
        split = work.options.sentences()
        for section in work.sections:
            room = work.options.room(section.heading_path, self.size)
            flow = plain_flow(section, room)
            spans = running_spans(
                flow.text, 0, len(flow.text), room, split, window_tokens=room.tokens
            )
            units = Units.of(flow, [Unit(start, end) for start, end in spans], room.counter)
            ranges = pack(units, room, overlap=self.overlap)
            yield from flow.pieces(map(units.span, ranges), room)

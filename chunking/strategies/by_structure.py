"""Mixed sections cut by the rules of the structure chunker, for the strategies that build on it."""

from collections.abc import Iterator
from itertools import groupby

from chunking.assemble import Piece
from chunking.budget import Room
from chunking.prose import Passage
from chunking.sections import Part, Section
from chunking.sentences import SentenceSplitter
from chunking.structure import char_start_of, split_section


def structure_passages(
    section: Section, room: Room, overlap: int, split: SentenceSplitter
) -> Iterator[Passage]:
    """Cut what stands under one heading: prose together, everything else for itself."""
    for is_prose, run in groupby(section.parts, key=_is_prose):
        parts = tuple(run)
        runs = [parts] if is_prose else [(part,) for part in parts]
        for parts in runs:
            yield from split_section(Section(section.heading_path, parts), room, overlap, split)


def piece_of(passage: Passage, section: Section, room: Room) -> Piece:
    return Piece(
        body=passage.text,
        prefix=room.prefix,
        heading_path=section.heading_path,
        blocks=[part.block for part in passage.parts],
        char_start=char_start_of(passage),
    )


def _is_prose(part: Part) -> bool:
    return part.rule == "prose"

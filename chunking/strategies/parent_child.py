"""`parent_child`: small chunks to search, and the larger ones that they come from to read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

from chunking.assemble import Piece
from chunking.atoms import has_fence, read_fence
from chunking.budget import Room
from chunking.flow import Flow, Span, Stretch, number_parts, unit_flow
from chunking.ranges import Units, pack
from chunking.sections import Part, Section
from chunking.sentences import SentenceSplitter
from chunking.strategies.by_structure import piece_of, structure_passages
from chunking.strategies.chunker import Cuts, Work
from chunking.strategies.options import LEAST_SIZE, check_size

PARENT_KIND = "parent"

_GAP = 256
"""Characters that may lie between two children of one parent: blank lines, a caption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentChild:
    """Parents are sections, cut only where one is too long; children are cut by structure.

    A parent holds all that stands under its heading, tables and code too. Children go into the
    index; parents are `Chunked.parents`, and never in what `chunk` gives.
    """

    NAME: ClassVar[str] = "parent_child"
    VERSION: ClassVar[int] = 1
    UNIT: ClassVar[str] = "tokens"

    parent_size: int = 2_048
    child_size: int = 256

    def __post_init__(self) -> None:
        check_size("parent_size", self.parent_size, least=LEAST_SIZE)
        most = ("parent_size", self.parent_size)
        check_size("child_size", self.child_size, least=LEAST_SIZE, most=most)

    def cut(self, work: Work) -> Cuts:
        parents: list[Piece] = []
        children: list[Piece] = []
        parent_of: list[int] = []
        for section in work.sections:
            for parent, own in self._families(section, work):
                parent_of += [len(parents)] * len(own)
                parents.append(parent)
                children += own
        return Cuts(pieces=children, parents=parents, parent_of=parent_of)

    def _families(self, section: Section, work: Work) -> Iterator[tuple[Piece, list[Piece]]]:
        path, split = section.heading_path, work.options.sentences()
        large = work.options.room(path, self.parent_size)
        small = work.options.room(path, self.child_size)
        flow, inside = unit_flow(section, large, split)
        units = Units.of(flow, inside, large.counter)
        spans = [units.span(reach) for reach in pack(units, large)]
        parents = list(flow.pieces(spans, large))
        families = [
            (parent, _children(parent, _section_at(flow, span), small, split))
            for parent, span in zip(parents, spans, strict=True)
        ]
        numbered = number_parts([child for _, children in families for child in children])
        for parent, children in families:
            about = {"children": len(children)}
            yield (
                replace(parent, kind=PARENT_KIND, metadata=about),
                list(islice(numbered, len(children))),
            )


def _children(parent: Piece, section: Section, room: Room, split: SentenceSplitter) -> list[Piece]:
    """Small pieces; each knows where it stands in its parent's content, if it does."""
    children = []
    cursor = 0
    for passage in structure_passages(section, room, 0, split):
        piece = piece_of(passage, section, room)
        if place := _place_of(piece.body, parent.body, cursor):
            cursor = place[1]
            start, end = (len(parent.prefix) + at for at in place)
            piece = replace(piece, metadata={"parent_start": start, "parent_end": end})
        children.append(piece)
    return children


def _section_at(flow: Flow, span: Span) -> Section:
    """What stands in a span, as parts that can be cut once more."""
    parts = tuple(_part_at(flow, stretch, span) for stretch in flow.within(*span))
    return Section(flow.section.heading_path, parts)


def _part_at(flow: Flow, stretch: Stretch, span: Span) -> Part:
    if stretch.source and span[0] <= stretch.start and stretch.end <= span[1]:
        return stretch.source
    start = max(stretch.start, span[0])
    text = flow.body(start, min(stretch.end, span[1]))
    offset = stretch.part.offset + start - stretch.start
    block = replace(stretch.part.block, caption=None)  # it stands in the text, where it does
    if not stretch.is_verbatim:
        block = replace(block, char_start=None)
    if stretch.part.rule == "code":
        return _code_at(Part(block, "code", text, offset))
    return Part(block, stretch.part.rule, text, offset)


def _code_at(part: Part) -> Part:
    """A piece of code without its fence; the caption above it, or what has no fence, stays."""
    lines = part.text.split("\n")
    opening = next((at for at, line in enumerate(lines) if has_fence(line)), None)
    if opening is None:
        return replace(part, rule="alone")
    block = replace(part.block, caption="\n".join(lines[:opening]))
    return replace(part, block=block, text=read_fence("\n".join(lines[opening:])).code)


def _place_of(body: str, text: str, cursor: int) -> Span | None:
    """Where the lines of a body stand in the parent's text, from `cursor` on.

    A header or a fence that is repeated is not there again, so it does not count: each line follows
    on the one before it, and only where none does may words lie between.
    """
    found = text.find(body, cursor, cursor + len(body) + _GAP)
    if found >= 0:
        return found, found + len(body)
    lines = [line.strip() for line in body.split("\n") if _has_words(line)]
    return _follow(lines, text, cursor, may_skip=False) or _follow(
        lines, text, cursor, may_skip=True
    )


def _follow(lines: Sequence[str], text: str, cursor: int, *, may_skip: bool) -> Span | None:
    start: int | None = None
    for line in lines:
        found = text.find(line, cursor, cursor + len(line) + _GAP)
        if found >= 0 and (may_skip or not _has_words(text[cursor:found])):
            start = found if start is None else start
            cursor = found + len(line)
    return None if start is None else (start, cursor)


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))

"""A section as one text, and the units of it that are packed whole."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chunking.assemble import Piece
from chunking.atoms import Atom, atoms
from chunking.budget import Room
from chunking.code import fence_of, fit_language
from chunking.model import Block
from chunking.prose import item_groups, split_atom
from chunking.running import body_at, running_spans, trim
from chunking.sections import Part, Section, caption_before
from chunking.sentences import SentenceSplitter
from chunking.structure import split_section
from chunking.tables import read_table
from chunking.text import is_blank

_BETWEEN = "\n\n"

Span = tuple[int, int]
"""Where a text begins and ends in a flow, in characters."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A span of a flow that is packed whole; units follow one another without a gap."""

    start: int
    end: int
    is_whole: bool = False
    """Of a table, code or a formula: never repeated as overlap."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """One block as it stands in a flow, or a piece of one that had to be cut."""

    start: int
    part: Part
    is_verbatim: bool
    source: Part | None
    """The block's own part, where all of it is here."""

    @property
    def end(self) -> int:
        return self.start + len(self.part.text)


@dataclass(frozen=True, slots=True)
class Flow:
    """The blocks of one section, one below the other."""

    section: Section
    text: str
    stretches: Sequence[Stretch]

    def body(self, start: int, end: int) -> str:
        return body_at(self.text, start, end)

    def pieces(
        self,
        spans: Iterable[Span],
        room: Room,
        about: Callable[[Span], Mapping[str, Any]] = lambda _: {},
    ) -> Iterator[Piece]:
        """One piece for each span that has something to see, numbered as parts of the section.

        Args:
            spans: In order.
            room: Its prefix goes before each body.
            about: Gives the metadata for a span.
        """
        yield from number_parts(
            [
                self._piece((start, end), room, about((start, end)))
                for start, end in spans
                if not is_blank(self.text[start:end])
            ]
        )

    def blocks(self, start: int, end: int) -> list[Block]:
        """What stands in `text[start:end]`, each block once."""
        blocks: list[Block] = []
        for stretch in self.within(start, end):
            if not blocks or stretch.part.block is not blocks[-1]:
                blocks.append(stretch.part.block)
        return blocks

    def within(self, start: int, end: int) -> Sequence[Stretch]:
        return self.stretches[self.index(start) : self.index(end - 1) + 1]

    def _piece(self, span: Span, room: Room, metadata: Mapping[str, Any]) -> Piece:
        body = self.body(*span)
        start, end = trim(self.text, *span)
        return Piece(
            body=body,
            prefix=room.prefix,
            heading_path=self.section.heading_path,
            blocks=self.blocks(start, end),
            char_start=self._offset(start),
            metadata=metadata,
        )

    def _offset(self, start: int) -> int | None:
        stretch = self.stretches[self.index(start)]
        origin = stretch.part.block.char_start
        if origin is None or not stretch.is_verbatim:
            return None
        return origin + stretch.part.offset + start - stretch.start

    def index(self, place: int) -> int:
        """Which stretch stands at a place."""
        return max(bisect_right(self.stretches, place, key=_start) - 1, 0)


def number_parts(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces of one section as its parts 1..n."""
    for number, piece in enumerate(pieces, start=1):
        yield replace(piece, part=number, is_cut=len(pieces) > 1)


def plain_flow(section: Section, room: Room) -> Flow:
    """The section as its Markdown would be: tables with their caption, code in its fence."""
    return _flow(section, [_Laid(_rendered(part, room), source=part) for part in section.parts])


def unit_flow(
    section: Section,
    room: Room,
    split: SentenceSplitter,
    *,
    prose_room: Room | None = None,
    by_sentence: bool = False,
) -> tuple[Flow, list[Unit]]:
    """The section with its units. Tables, code and formulas are units of their own.

    Args:
        section: Blocks of any kind.
        room: What does not fit in it is cut by the rule of its kind: a table by rows that repeat
            their header, code by lines in fences of their own.
        split: Finds the sentences.
        prose_room: For prose, when it is another.
        by_sentence: Units of prose are sentences; else whole blocks, and list items or sentences
            of those that do not fit.
    """
    laid: list[_Laid] = []
    units: list[Unit] = []
    position = 0
    for part in section.parts:
        if _is_whole(part):
            pieces = _whole(section, part, room, split)
        else:
            pieces = _prose(part, prose_room or room, split, by_sentence=by_sentence)
        for piece in pieces:
            laid.append(piece)
            end = position + len(piece.part.text) + len(_BETWEEN)
            starts = [position + unit.start for unit in piece.units]
            for unit, start, stop in zip(piece.units, starts, [*starts[1:], end], strict=True):
                units.append(Unit(start, stop, unit.is_whole))
            position = end
    flow = _flow(section, laid)
    if units:
        units[-1] = replace(units[-1], end=len(flow.text))
    return flow, units


@dataclass(frozen=True, slots=True)
class _Laid:
    """A part as it will stand in a flow, with its units."""

    part: Part
    units: Sequence[Unit] = ()
    is_verbatim: bool = True
    source: Part | None = None


def _flow(section: Section, laid: Sequence[_Laid]) -> Flow:
    stretches: list[Stretch] = []
    position = 0
    for each in laid:
        stretches.append(Stretch(position, each.part, each.is_verbatim, each.source))
        position += len(each.part.text) + len(_BETWEEN)
    return Flow(section, _BETWEEN.join([each.part.text for each in laid]), stretches)


def _is_whole(part: Part) -> bool:
    return part.rule in {"table", "code"}


def _rendered(part: Part, room: Room) -> Part:
    caption = caption_before(part.block, part.text)
    if part.rule == "table":
        text = "\n".join(read_table(part.text, caption).lines)
        offset = part.offset - max(text.find(part.text), 0)
        return replace(part, text=text, offset=offset)
    if part.rule == "code" and is_blank(part.text):
        return replace(part, text=caption)
    if part.rule == "code":
        opening, closing = fence_of(part.text, fit_language(part.block.language or "", room))
        before = f"{caption}\n{opening}\n" if caption else f"{opening}\n"
        return replace(
            part,
            text=f"{before}{part.text}\n{closing}",
            offset=part.offset - len(before),
        )
    return part


def _whole(section: Section, part: Part, room: Room, split: SentenceSplitter) -> Iterator[_Laid]:
    rendered = _rendered(part, room)
    if room.fits(rendered.text):
        yield _Laid(rendered, [Unit(0, len(rendered.text), is_whole=True)], source=part)
        return
    for passage in split_section(Section(section.heading_path, (part,)), room, 0, split):
        piece = replace(part, text=passage.text, offset=part.offset + (passage.start or 0))
        unit = Unit(0, len(piece.text), is_whole=True)
        yield _Laid(piece, [unit], is_verbatim=passage.start is not None)


def _prose(
    part: Part, room: Room, split: SentenceSplitter, *, by_sentence: bool
) -> Iterator[_Laid]:
    """Fences and tables inside of a list are whole; those that do not fit are cut apart."""
    if room.fits(part.text) and (part.block.kind == "formula" or not by_sentence):
        is_whole = part.block.kind == "formula" or not _is_text(atoms(part.text))
        yield _Laid(part, [Unit(0, len(part.text), is_whole)], source=part)
        return
    begin = 0
    units: list[Unit] = []
    for group in _groups(part, room, by_sentence=by_sentence):
        start, end = group[0].start, group[-1].end
        is_text = _is_text(group)
        if is_text and (by_sentence or not room.fits(body_at(part.text, start, end))):
            spans = running_spans(part.text, start, end, room, split, window_tokens=room.tokens)
            units += [Unit(a - begin, b - begin) for a, b in spans]
        elif room.fits(body_at(part.text, start, end)):
            units.append(Unit(start - begin, end - begin, is_whole=not is_text))
        else:
            if units:
                yield _Laid(_between(part, begin, start), units)
            for text in split_atom(part.text[start:end], group[0], room, split):
                unit = Unit(0, len(text), is_whole=True)
                yield _Laid(replace(part, text=text), [unit], is_verbatim=False)
            begin, units = end, []
    if units:
        yield _Laid(_between(part, begin, len(part.text)), units)


def _is_text(group: Iterable[Atom]) -> bool:
    return all(atom.kind == "text" for atom in group)


def _groups(part: Part, room: Room, *, by_sentence: bool) -> Iterator[list[Atom]]:
    return ([atom] for atom in atoms(part.text)) if by_sentence else item_groups(part, room)


def _between(part: Part, start: int, end: int) -> Part:
    return replace(part, text=part.text[start:end].rstrip(), offset=part.offset + start)


def _start(stretch: Stretch) -> int:
    return stretch.start

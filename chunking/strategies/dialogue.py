"""`dialogue`: windows of turns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar

from chunking.assemble import Piece
from chunking.atoms import escape_fence
from chunking.budget import Counter, Room
from chunking.flow import number_parts
from chunking.sections import Part, Section, name_before
from chunking.sentences import SentenceSplitter
from chunking.strategies.by_structure import piece_of, structure_passages
from chunking.strategies.chunker import Work
from chunking.strategies.options import LEAST_SIZE, Options, check_size
from chunking.text import one_line

_FEW_LETTERS = 3
"""A chunk of one turn that has no more says nothing, and ranks high."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """A line for each turn. What is no turn is cut by the rules of its kind."""

    NAME: ClassVar[str] = "dialogue"
    VERSION: ClassVar[int] = 1
    UNIT: ClassVar[str] = "chars"

    max_turns: int = 10
    max_chars: int = 900
    overlap_turns: int = 2
    """Repeated from the window before, where they fit; each window has one new turn at least."""

    def __post_init__(self) -> None:
        check_size("max_turns", self.max_turns)
        check_size("max_chars", self.max_chars, least=LEAST_SIZE)
        check_size(
            "overlap_turns", self.overlap_turns, least=0, below=("max_turns", self.max_turns)
        )

    def cut(self, work: Work) -> Iterator[Piece]:
        for section in work.sections:
            yield from number_parts(list(self.pieces(section, work.options)))

    def pieces(self, section: Section, options: Options) -> Iterator[Piece]:
        """The pieces of one section, not yet numbered."""
        room, split = options.room(section.heading_path, self.max_chars), options.sentences()
        first_turn = 0
        for is_turns, run in groupby(section.parts, key=is_turn):
            parts = tuple(run)
            if is_turns:
                turns = _Turns(section, parts, first_turn, room, split)
                yield from self._windows(turns)
                first_turn += len(parts)
            else:
                rest = Section(section.heading_path, parts)
                for passage in structure_passages(rest, room, 0, split):
                    yield piece_of(passage, section, room)

    def _windows(self, turns: "_Turns") -> Iterator[Piece]:
        windows: list[_Window] = []
        last = 0
        while last < len(turns.parts):
            if not turns.fits(last, last + 1):
                yield from map(turns.piece, _without_scraps(windows, turns))
                yield from turns.cut_up(last)
                windows, last = [], last + 1
                continue
            first = last
            lead = max(first - self.overlap_turns, 0)
            while lead < first and not turns.fits(lead, first + 1):
                lead += 1
            last = first + 1
            while (
                last < len(turns.parts)
                and last - lead < self.max_turns
                and turns.fits(lead, last + 1)
            ):
                last += 1
            windows.append(_Window(lead, first, last))
        yield from map(turns.piece, _without_scraps(windows, turns))


def is_turn(part: Part) -> bool:
    return part.block.kind == "turn"


@dataclass(frozen=True, slots=True)
class _Window:
    lead: int
    first: int
    """The first turn that was not in the window before."""
    last: int


@dataclass(frozen=True, slots=True)
class _Turns:
    """A run of turns, and how they look in a chunk."""

    section: Section
    parts: Sequence[Part]
    number: int
    """Of the first one, within the section."""
    room: Room
    split: SentenceSplitter

    def text(self, first: int, last: int) -> str:
        return "\n".join([part.text for part in self.parts[first:last]])

    def fits(self, first: int, last: int) -> bool:
        return self.room.fits(self.text(first, last))

    def says_little(self, turn: int) -> bool:
        return sum(map(str.isalnum, self.parts[turn].block.text)) <= _FEW_LETTERS

    def piece(self, window: _Window) -> Piece:
        return self._piece(self.text(window.lead, window.last), window.lead, window.last)

    def cut_up(self, turn: int) -> Iterator[Piece]:
        """A turn that is too long, at sentences; every piece names its speaker."""
        part = self.parts[turn]
        spoken = _spoken(part, self.room)
        if spoken.before:  # behind a name no fence begins
            part = replace(part, text=escape_fence(part.text.removeprefix(spoken.before)))
        rest = Section(self.section.heading_path, (part,))
        for passage in structure_passages(rest, spoken, 0, self.split):
            yield self._piece(spoken.said(passage.text), turn, turn + 1)

    def _piece(self, body: str, first: int, last: int) -> Piece:
        blocks = [part.block for part in self.parts[first:last]]
        names = [one_line(block.speaker) for block in blocks if block.speaker]
        about: Mapping[str, Any] = {
            "speakers": list(dict.fromkeys(filter(None, names))),
            "first_turn": self.number + first,
            "last_turn": self.number + last - 1,
        }
        return Piece(
            body=body,
            prefix=self.room.prefix,
            heading_path=self.section.heading_path,
            blocks=blocks,
            metadata=about,
        )


@dataclass(frozen=True, slots=True)
class _Spoken:
    """The room for the words of one speaker, whose name stands before them."""

    room: Room
    before: str

    @property
    def counter(self) -> Counter:
        return self.room.counter

    @property
    def prefix(self) -> str:
        return self.room.prefix

    @property
    def tokens(self) -> int:
        return self.room.tokens - self.counter.count(self.before)

    def said(self, words: str) -> str:
        """The words behind the name; a fence begins on a line of its own."""
        if self.before and escape_fence(words) != words:
            return f"{self.before.rstrip()}\n{words}"
        return self.before + words

    def fits(self, body: str) -> bool:
        return self.room.fits(self.said(body))


def _spoken(part: Part, room: Room) -> _Spoken:
    """The room behind the name, if the turn begins with one and it leaves half of the room."""
    before = name_before(part.block)
    is_named = part.text.startswith(before)
    has_room = 2 * room.counter.count(before) <= room.tokens
    return _Spoken(room, before if is_named and has_room else "")


def _without_scraps(windows: Sequence[_Window], turns: _Turns) -> list[_Window]:
    """Windows of which none is a single turn of a few letters, where it can be helped.

    Such a turn takes the last one of the window before over.
    """
    kept: list[_Window] = []
    for window in windows:
        is_scrap = window.last - window.lead == 1 and turns.says_little(window.first)
        before = kept[-1] if kept and is_scrap else None
        if before and before.last - before.first > 1 and turns.fits(before.last - 1, window.last):
            kept[-1] = _Window(before.lead, before.first, before.last - 1)
            kept.append(_Window(before.last - 1, before.last - 1, window.last))
        else:
            kept.append(window)
    return kept

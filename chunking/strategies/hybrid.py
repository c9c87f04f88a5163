"""`hybrid`: each kind of block by the strategy that suits it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import ClassVar

from chunking.assemble import Piece
from chunking.atoms import has_fence
from chunking.budget import Room
from chunking.flow import Unit, number_parts, unit_flow
from chunking.protocols import Embed
from chunking.ranges import Range, Units, join_short, pack, with_overlap
from chunking.sections import Section
from chunking.strategies.chunker import OUTSIDE, Work
from chunking.strategies.dialogue import Dialogue, is_turn
from chunking.strategies.options import LEAST_SIZE, check_ratio, check_size
from chunking.strategies.recursive import Recursive
from chunking.strategies.semantic import Semantic, check_lambda, novelties
from chunking.strategies.vectors import cut_at, texts_of, vectors_of

_WHOLE = ("table", "code", "formula")
_MIN_SEMANTIC = 350
_WINDOW = 2
_MADE_BY = "made_by"
"""Key of the metadata: the strategy, or the kind of a block that stands whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """Tables, code and formulas whole, turns in windows, prose by form, long prose by meaning."""

    NAME: ClassVar[str] = "hybrid"
    VERSION: ClassVar[int] = 1
    UNIT: ClassVar[str] = "chars"

    embed: Embed = field(metadata=OUTSIDE)
    max_coarse_len: int = 1_100
    """No chunk is longer. Prose up to this is cut at paragraphs and sentences, else by meaning."""
    target_len: int = 750
    min_chunk_len: int = 320
    """Neighbours in a section shorter than this are joined up to `target_len`."""
    overlap_ratio: float = 0.1
    """Of `target_len`: whole sentences repeated from the chunk before, at most."""
    lambda_std: float = 0.8
    """As of `semantic`."""

    def __post_init__(self) -> None:
        check_size("max_coarse_len", self.max_coarse_len, least=LEAST_SIZE)
        most = ("max_coarse_len", self.max_coarse_len)
        check_size("target_len", self.target_len, least=LEAST_SIZE, most=most)
        most = ("target_len", self.target_len)
        check_size("min_chunk_len", self.min_chunk_len, least=0, most=most)
        check_ratio("overlap_ratio", self.overlap_ratio)
        check_lambda(self.lambda_std)

    def texts_to_embed(self, work: Work) -> list[str]:
        return texts_of(run for laid in self._lay_all(work) for run in laid.long)

    def cut(self, work: Work) -> Iterator[Piece]:
        laid = self._lay_all(work)
        long = vectors_of([run for each in laid for run in each.long], self.embed)
        is_novel = iter(novelties(long, _WINDOW, self.lambda_std))
        rest = iter(laid)
        dialogue = Dialogue(max_chars=min(Dialogue().max_chars, self.max_coarse_len))
        for section in work.sections:
            pieces: list[Piece] = []
            for is_turns, run in _runs(section):
                if is_turns:
                    told = dialogue.pieces(run, work.options)
                    pieces += [_made_by(piece, dialogue.NAME) for piece in told]
                else:
                    pieces += self._mixed(next(rest), is_novel, work)
            yield from number_parts(pieces)

    def _lay_all(self, work: Work) -> list["_Laid"]:
        runs = [run for section in work.sections for run in _runs(section)]
        return [self._lay(run, work) for is_turns, run in runs if not is_turns]

    def _lay(self, section: Section, work: Work) -> "_Laid":
        target = work.options.room(section.heading_path, self.target_len)
        heading = target.prefix.removesuffix("\n")  # one line for both sizes
        room = work.options.room_under(heading, self.max_coarse_len)
        flow, inside = unit_flow(section, room, work.options.sentences(), by_sentence=True)
        units = Units.of(flow, inside, room.counter)
        runs: list[tuple[Range, str]] = []
        for is_whole, run in groupby(range(len(inside)), key=lambda at: inside[at].is_whole):
            places = list(run)
            if is_whole:
                runs += [((at, at + 1), _kind_at(units, at)) for at in places]
            else:
                reach = places[0], places[-1] + 1
                is_short = room.fits(units.body(reach))
                runs.append((reach, Recursive.NAME if is_short else Semantic.NAME))
        return _Laid(units, runs, room, target)

    def _mixed(
        self, laid: "_Laid", is_novel: Iterator[frozenset[int]], work: Work
    ) -> Iterator[Piece]:
        units, room, target = laid.units, laid.room, laid.target
        makers: dict[int, str] = {}
        """By the first unit of each range."""
        ranges: list[Range] = []
        for reach, maker in laid.runs:
            if maker == Recursive.NAME:
                found = _by_form(units, reach, target)
            elif maker == Semantic.NAME:
                run = units.only(reach)
                cuts = cut_at(run, next(is_novel).__contains__, room, _MIN_SEMANTIC)
                found = [(reach[0] + first, reach[0] + last) for first, last in cuts]
            else:
                found = [reach]
            ranges += found
            makers |= dict.fromkeys([first for first, _ in found], maker)
        joined = join_short(
            ranges,
            lambda reach: units.size(reach) < self.min_chunk_len,
            lambda reach: target.fits(units.body(reach)),
        )
        names = {
            units.span((first, last))[1]: "+".join(
                dict.fromkeys(makers[at] for at in range(first, last) if at in makers)
            )
            for first, last in joined
        }
        overlap = int(self.overlap_ratio * self.target_len)
        spans = with_overlap(
            units, map(units.span, joined), room, overlap, work.options.sentences()
        )
        yield from units.flow.pieces(spans, room, lambda span: {_MADE_BY: names[span[1]]})


@dataclass(frozen=True, slots=True)
class _Laid:
    """A section without its turns, and which strategy cuts which of its units."""

    units: Units
    runs: Sequence[tuple[Range, str]]
    room: Room
    target: Room

    @property
    def long(self) -> list[Units]:
        return [self.units.only(reach) for reach, maker in self.runs if maker == Semantic.NAME]


def _runs(section: Section) -> Iterator[tuple[bool, Section]]:
    """Turns and other blocks apart."""
    for is_turns, parts in groupby(section.parts, key=is_turn):
        yield is_turns, Section(section.heading_path, tuple(parts))


def _by_form(units: Units, reach: Range, room: Room) -> list[Range]:
    """Whole paragraphs, packed; the sentences of one that does not fit."""
    coarse: list[Range] = []
    for _, sentences in groupby(
        range(*reach), key=lambda at: units.flow.index(units.units[at].start)
    ):
        places = list(sentences)
        paragraph = places[0], places[-1] + 1
        if room.fits(units.body(paragraph)):
            coarse.append(paragraph)
        else:
            coarse += [(at, at + 1) for at in places]
    merged = [Unit(*units.span(each)) for each in coarse]
    packed = pack(Units.of(units.flow, merged, units.counter), room)
    return [(coarse[first][0], coarse[last - 1][1]) for first, last in packed]


def _kind_at(units: Units, at: int) -> str:
    """Of a unit that stands whole; a fence or a table may stand in a list."""
    kind = units.flow.blocks(*units.span((at, at + 1)))[0].kind
    if kind in _WHOLE:
        return kind
    return "code" if has_fence(units.body((at, at + 1))) else "table"


def _made_by(piece: Piece, name: str) -> Piece:
    return replace(piece, metadata={**piece.metadata, _MADE_BY: name})

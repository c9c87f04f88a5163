"""Runs of units: packed, joined where they are small, and repeated a little of each before."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from chunking.budget import Counter, Room
from chunking.flow import Flow, Span, Unit
from chunking.packing import carry_over, fill
from chunking.sentences import SentenceSplitter, sentence_ends

Range = tuple[int, int]
"""The first unit, and one past the last."""

_LOOK_BACK = 8
"""Characters looked at for each token of an overlap, to find the sentences in it."""


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a flow, with their sizes."""

    flow: Flow
    units: Sequence[Unit]
    counter: Counter
    sizes: Sequence[int]

    @classmethod
    def of(cls, flow: Flow, units: Sequence[Unit], counter: Counter) -> "Units":
        sizes = [counter.count(flow.text[unit.start : unit.end]) for unit in units]
        return cls(flow, units, counter, sizes)

    def span(self, reach: Range) -> Span:
        return self.units[reach[0]].start, self.units[reach[1] - 1].end

    def only(self, reach: Range) -> "Units":
        return Units(self.flow, self.units[slice(*reach)], self.counter, self.sizes[slice(*reach)])

    def within(self, span: Span) -> Range:
        """The units that a span takes in, those that it cuts too."""
        first = bisect_right(self.units, span[0], key=_start_of_unit) - 1
        return first, bisect_left(self.units, span[1], key=_start_of_unit)

    def body(self, reach: Range) -> str:
        return self.flow.body(*self.span(reach))

    def size(self, reach: Range) -> int:
        return self.counter.count(self.body(reach))


def pack(
    units: Units,
    room: Room,
    *,
    overlap: int = 0,
    limit: int | None = None,
    breaks: Sequence[int] = (),
) -> list[Range]:
    """Greedy ranges that fit; each repeats the last few whole units of the one before.

    Args:
        units: What is packed; each fits alone.
        room: The budget.
        overlap: The most that is repeated.
        limit: Fill no further than this, where less than the room.
        breaks: Units, in order, before which a range must end.
    """
    limit = room.tokens if limit is None else min(limit, room.tokens)

    def fits(first: int, last: int) -> bool:
        body = units.body((first, last))
        return room.fits(body) and (limit == room.tokens or units.counter.count(body) <= limit)

    size_of = units.sizes.__getitem__
    ranges: list[Range] = []
    first = last = 0
    while last < len(units.units):
        at = bisect_right(breaks, last)
        stop = breaks[at] if at < len(breaks) else len(units.units)
        last = fill(size_of, first, stop, limit, fits)
        ranges.append((first, last))
        if last == len(units.units):
            break
        first = carry_over(size_of, first, last, overlap=overlap, limit=limit, fits=fits)
    return ranges


def join_short(
    ranges: Sequence[Range],
    is_short: Callable[[Range], bool],
    fits: Callable[[Range], bool],
) -> list[Range]:
    """Join neighbours while one of them is short and both together fit.

    One pass is enough: a range that grows does not become short again, nor does it fit where it
    did not before. So no two neighbours are left that could have been joined.
    """
    joined: list[Range] = []
    for reach in ranges:
        if joined and (is_short(reach) or is_short(joined[-1])):
            both = joined[-1][0], reach[1]
            if fits(both):
                joined[-1] = both
                continue
        joined.append(reach)
    return joined


def evened(units: Units, ranges: Sequence[Range], room: Room, least: int) -> list[Range]:
    """Ranges that are still short take units over from the one before, which stays long enough."""
    even: list[Range] = []
    for first, last in ranges:
        if even and even[-1][1] == first:
            start = even[-1][0]
            while (
                units.size((first, last)) < least
                and first - 1 > start
                and units.size((start, first - 1)) >= least
                and room.fits(units.body((first - 1, last)))
            ):
                first -= 1  # noqa: PLW2901 - the boundary moves
            even[-1] = (start, first)
        even.append((first, last))
    return even


def with_overlap(
    units: Units, spans: Iterable[Span], room: Room, overlap: int, split: SentenceSplitter
) -> Iterator[Span]:
    """Each span, with the last whole sentences of the one before where they fit.

    Up to `overlap` is repeated, never a whole span, and nothing of a table, code or a formula.
    """
    lead: int | None = None
    for start, end in spans:
        fits = lead is not None and room.fits(units.flow.body(lead, end))
        yield (lead if lead is not None and fits else start), end
        lead = _sentence_start(units, (start, end), overlap, split) if overlap else None


def _sentence_start(units: Units, span: Span, overlap: int, split: SentenceSplitter) -> int | None:
    """Where the last sentences of a span begin that are at most `overlap` together."""
    start, end = span

    def is_small(place: int) -> bool:
        return units.counter.count(units.flow.body(place, end)) <= overlap

    found: int | None = None
    at = bisect_left(units.units, end, key=_start_of_unit) - 1
    unit = units.units[at]
    while not unit.is_whole and unit.start > start and is_small(unit.start):
        found = unit.start
        at -= 1
        unit = units.units[at]
    if unit.is_whole:
        return found
    window = max(unit.start, start, end - _LOOK_BACK * overlap)
    ends = sentence_ends(units.flow.text[window : min(unit.end, end)], split)[:-1]
    return next((window + place for place in ends if is_small(window + place)), found)


def _start_of_unit(unit: Unit) -> int:
    return unit.start

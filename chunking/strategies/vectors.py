"""Sentences with their vectors: what the strategies that cut by meaning share."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from chunking.budget import Room
from chunking.flow import Span
from chunking.protocols import Embed
from chunking.ranges import Range, Units, evened, join_short
from chunking.text import is_blank

DIGITS = 4
"""To which vectors and distances are rounded: a text's vector differs by 1e-7 from batch to batch,
and that must shift no cut."""

Vectors = NDArray[np.float64]


def texts_of(units: Iterable[Units]) -> list[str]:
    """The units of many sections that have something to see, each text once."""
    bodies = (each.body((at, at + 1)) for each in units for at in range(len(each.units)))
    return list(dict.fromkeys(body for body in bodies if not is_blank(body)))


def vectors_of(units: Sequence[Units], embed: Embed) -> list[Vectors]:
    """Vectors of each section's units, shape (n, dim), embedded in one call; zeros for blank ones.

    Raises:
        ValueError: There are not as many vectors as texts.
    """
    texts = texts_of(units)
    if not texts:
        return [np.zeros((len(each.units), 1)) for each in units]
    vectors = np.asarray(embed(texts), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ValueError(f"embed gave vectors of shape {vectors.shape} for {len(texts)} texts.")
    rows = {text: row for row, text in enumerate(texts)}
    padded = np.vstack([vectors, np.zeros((1, vectors.shape[1]))])
    return [
        padded[[rows.get(each.body((at, at + 1)), -1) for at in range(len(each.units))]]
        for each in units
    ]


def cut_at(units: Units, is_boundary: Callable[[int], bool], room: Room, least: int) -> list[Range]:
    """Ranges that end before a boundary once they have the least size, or where the room ends.

    A last one under the least size joins the one before, where both fit, or takes over from it.
    """
    ranges: list[Range] = []
    if not units.units:
        return ranges
    first = 0
    for at in range(1, len(units.units)):
        is_full = not room.fits(units.body((first, at + 1)))
        if is_full or (is_boundary(at) and units.size((first, at)) >= least):
            ranges.append((first, at))
            first = at
    ranges.append((first, len(units.units)))
    last_two = join_short(
        ranges[-2:],
        lambda reach: reach == ranges[-1] and units.size(reach) < least,
        lambda reach: room.fits(units.body(reach)),
    )
    return ranges[:-2] + evened(units, last_two, room, least)


def sentence_numbers(units: Units, span: Span) -> dict[str, int]:
    """The first and the last sentence of a span, numbered from 0 within the section."""
    first, last = units.within(span)
    return {"first_sentence": first, "last_sentence": last - 1}

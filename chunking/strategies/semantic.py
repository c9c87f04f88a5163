"""`semantic`: a chunk ends where a sentence says something new."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from chunking.assemble import Piece
from chunking.flow import unit_flow
from chunking.protocols import Embed
from chunking.ranges import Units, with_overlap
from chunking.strategies.chunker import OUTSIDE, Work
from chunking.strategies.options import LEAST_SIZE, check_size
from chunking.strategies.vectors import (
    DIGITS,
    Vectors,
    cut_at,
    sentence_numbers,
    texts_of,
    vectors_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Semantic:
    """Novelty is the cosine distance of a sentence to the mean of the few before it."""

    NAME: ClassVar[str] = "semantic"
    VERSION: ClassVar[int] = 1
    UNIT: ClassVar[str] = "chars"

    embed: Embed = field(metadata=OUTSIDE)
    window_size: int = 2
    """Sentences before, that one is compared with."""
    lambda_std: float = 0.8
    """A chunk ends where novelty is over the document's mean by so many standard deviations,"""
    min_chars: int = 350
    """once it has so many characters."""
    max_chars: int = 1_100
    overlap: int = 80
    """Whole sentences repeated from the chunk before, at most."""

    def __post_init__(self) -> None:
        check_size("max_chars", self.max_chars, least=LEAST_SIZE)
        check_size("min_chars", self.min_chars, least=0, most=("max_chars", self.max_chars))
        check_size("overlap", self.overlap, least=0, below=("max_chars", self.max_chars))
        check_size("window_size", self.window_size)
        check_lambda(self.lambda_std)

    def texts_to_embed(self, work: Work) -> list[str]:
        return texts_of(self._sentences(work))

    def cut(self, work: Work) -> Iterator[Piece]:
        sections = self._sentences(work)
        vectors = vectors_of(sections, self.embed)
        novel = novelties(vectors, self.window_size, self.lambda_std)
        split = work.options.sentences()
        for section, units, is_novel in zip(work.sections, sections, novel, strict=True):
            room = work.options.room(section.heading_path, self.max_chars)
            ranges = cut_at(units, is_novel.__contains__, room, self.min_chars)
            spans = with_overlap(units, map(units.span, ranges), room, self.overlap, split)
            yield from units.flow.pieces(spans, room, partial(sentence_numbers, units))

    def _sentences(self, work: Work) -> list[Units]:
        return sentences_of(work, self.max_chars)


def sentences_of(work: Work, size: int) -> list[Units]:
    """The sentences of each section; tables, code and formulas count as one where they fit."""
    split = work.options.sentences()
    found = []
    for section in work.sections:
        room = work.options.room(section.heading_path, size)
        flow, units = unit_flow(section, room, split, by_sentence=True)
        found.append(Units.of(flow, units, room.counter))
    return found


def novelties(sections: Sequence[Vectors], window: int, deviations: float) -> list[frozenset[int]]:
    """For each section the sentences that are new beside the `window` before them.

    The measure is 1 - cosine to their mean; new is what lies over the mean of all sections by
    more than so many standard deviations. The first sentence of a section is compared to none.
    """
    distances = [_distances(vectors, window) for vectors in sections]
    every = np.concatenate([np.zeros(0), *distances])
    if not every.size:
        return [frozenset() for _ in sections]
    limit = round(float(every.mean() + deviations * every.std()), DIGITS)
    return [frozenset((np.flatnonzero(each > limit) + 1).tolist()) for each in distances]


def _distances(vectors: Vectors, window: int) -> Vectors:
    """Of rows 1 to n-1, each to the mean of up to `window` rows before it."""
    before = np.zeros_like(vectors)
    for back in range(1, min(window, len(vectors) - 1) + 1):
        before[back:] += vectors[:-back]
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(vectors, axis=1)
    dots = np.einsum("ij,ij->i", before, vectors)
    cosines = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
    distances: Vectors = np.round(1 - cosines, DIGITS)[1:]
    return distances


def check_lambda(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(f"lambda_std={value!r} must be a number.")

"""`topic`: sentences grouped by KMeans; a chunk ends where the topic changes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from chunking.assemble import Piece
from chunking.flow import Span
from chunking.protocols import Embed
from chunking.ranges import Units
from chunking.strategies.chunker import OUTSIDE, Work
from chunking.strategies.options import LEAST_SIZE, check_size
from chunking.strategies.semantic import sentences_of
from chunking.strategies.vectors import (
    DIGITS,
    Vectors,
    cut_at,
    sentence_numbers,
    texts_of,
    vectors_of,
)

_SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Topics are those of the document, numbered from 0 in the order of their first sentence."""

    NAME: ClassVar[str] = "topic"
    VERSION: ClassVar[int] = 1
    UNIT: ClassVar[str] = "chars"

    embed: Embed = field(metadata=OUTSIDE)
    k_topics: int = 5
    """Fewer where there are fewer different sentences."""
    smooth_window: int = 2
    """Sentences on each side that vote on a sentence's topic."""
    min_chars: int = 500
    """A chunk ends where the topic changes once it has so many characters,"""
    max_chars: int = 1_400
    """or before it has more than these."""

    def __post_init__(self) -> None:
        check_size("max_chars", self.max_chars, least=LEAST_SIZE)
        check_size("min_chars", self.min_chars, least=0, most=("max_chars", self.max_chars))
        check_size("k_topics", self.k_topics)
        check_size("smooth_window", self.smooth_window, least=0)

    def texts_to_embed(self, work: Work) -> list[str]:
        return texts_of(sentences_of(work, self.max_chars))

    def cut(self, work: Work) -> Iterator[Piece]:
        sections = sentences_of(work, self.max_chars)
        labels = topics(vectors_of(sections, self.embed), self.k_topics)
        for section, units, raw in zip(work.sections, sections, labels, strict=True):
            topic = smoothed(raw, self.smooth_window)
            room = work.options.room(section.heading_path, self.max_chars)
            ranges = cut_at(units, _changes(topic).__contains__, room, self.min_chars)
            yield from units.flow.pieces(map(units.span, ranges), room, _About(units, topic))


@dataclass(frozen=True, slots=True)
class _About:
    units: Units
    topic: Sequence[int]

    def __call__(self, span: Span) -> dict[str, Any]:
        first, last = self.units.within(span)
        most_common = Counter(self.topic[first:last]).most_common(1)[0][0]
        return {**sentence_numbers(self.units, span), "topic": most_common}


def topics(sections: Sequence[Vectors], k: int) -> list[list[int]]:
    """A topic for each sentence of each section, by KMeans over the whole document.

    The seed is fixed, vectors are rounded and one thread adds up, so the topics do not depend on
    the process or on what was embedded in the same batch.
    """
    if not sections:
        return []
    from sklearn.cluster import KMeans  # noqa: PLC0415 - a second that other strategies need not wait for

    every = np.concatenate(sections).round(DIGITS)
    k = _distinct(every, k)
    if k < 2:
        return [[0] * len(section) for section in sections]
    with threadpool_limits(limits=1):
        found = KMeans(n_clusters=k, n_init=4, random_state=_SEED).fit_predict(every)
    numbers = {label: number for number, label in enumerate(dict.fromkeys(found.tolist()))}
    labels = iter(found.tolist())
    return [[numbers[next(labels)] for _ in section] for section in sections]


def _distinct(rows: Vectors, most: int) -> int:
    """How many different rows there are; looks no further than `most`."""
    seen: set[bytes] = set()
    for row in rows:
        seen.add(row.tobytes())
        if len(seen) == most:
            break
    return len(seen)


def smoothed(labels: Sequence[int], window: int) -> list[int]:
    """The majority of each label and its `window` neighbours on each side; its own on a tie."""
    smooth = []
    for at, own in enumerate(labels):
        votes = Counter(labels[max(at - window, 0) : at + window + 1])
        most = max(votes.values())
        smooth.append(own if votes[own] == most else votes.most_common(1)[0][0])
    return smooth


def _changes(topic: Sequence[int]) -> frozenset[int]:
    return frozenset(at for at in range(1, len(topic)) if topic[at] != topic[at - 1])

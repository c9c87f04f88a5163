"""A model of four dimensions for strategies that cut by vectors."""

from collections import Counter

import numpy as np

from storage.protocols import Embedded


class Model:
    """Counts what it is asked; refuses what holds "poison", gives no answer for "lost"."""

    name, dim = "model@1", 4

    def __init__(self):
        self.calls = []

    def embed(self, texts):
        self.calls.append(list(texts))
        vectors = np.array([[len(t), t.count("e"), t.count("的"), 1] for t in texts], np.float32)
        return Embedded(
            vectors=vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
            refused={at: "no" for at, text in enumerate(texts) if "poison" in text},
            failed={at: "gone" for at, text in enumerate(texts) if "lost" in text},
            tokens=sum(map(len, texts)),
            requests=1,
        )

    @property
    def paid(self):
        return Counter(text for call in self.calls for text in call)

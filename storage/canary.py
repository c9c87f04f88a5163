"""One known text, embedded to learn what a model is before anything is paid for or written."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storage.errors import SettingError
from storage.protocols import Embedder

CANARY_TEXT = "A red kite circles over the valley. 一只赤鸢在山谷上空盘旋。"
SAME_MODEL_COSINE = 0.999
"""Hosted models answer the same text with vectors that differ in the fourth digit at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What a model said of itself."""

    name: str
    dim: int
    canary: NDArray[np.float32]
    """Vector of CANARY_TEXT, shape (dim,), length 1; kept with the collection."""

    def is_same_model(self, earlier: NDArray[np.float32]) -> bool:
        """Whether a canary of an earlier run lies in the same vector space as this one."""
        if earlier.shape != self.canary.shape:
            return False
        return float(earlier @ self.canary) >= SAME_MODEL_COSINE


def probe(embedder: Embedder) -> Probe:
    """Embed the canary: one request.

    Raises:
        SettingError: The model gives no usable vector for a plain text.
        StorageError: As `Embedder.embed`.
    """
    embedded = embedder.embed([CANARY_TEXT])
    for reason in (*embedded.refused.values(), *embedded.failed.values()):
        raise SettingError(
            "embedding.model",
            f"{embedder.name} does not embed a plain sentence: {reason}",
            "Try another model, or look at the log of its server.",
        )
    return Probe(name=embedder.name, dim=embedder.dim, canary=embedded.vectors[0])

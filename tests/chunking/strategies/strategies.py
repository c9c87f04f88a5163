"""Every strategy, built with stand-ins for what must be handed in."""

import json
import zlib

import numpy as np

from chunking import make_chunker
from chunking.strategies import STRATEGIES, needs_of

ALL = tuple(STRATEGIES)
PLAIN = ("fixed", "sentence", "recursive")
"""They know no tables and no code, and cut through fences."""


def embed(texts):
    """The same vector for the same text, in any process: like words give like vectors."""
    vectors = np.full((len(texts), 32), 1e-3, dtype=np.float32)
    for row, text in enumerate(texts):
        for at in range(len(text)):
            vectors[row, zlib.crc32(text[at : at + 2].encode("utf-8", "replace")) % 32] += 1
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def complete(system, user):
    """A model that does as it is told: five units a segment."""
    told = json.loads(user)
    starts = [unit["at"] for unit in told["units"]][::5]
    segments = [
        {"start": start, "end": end, "title_path": told["heading_path"], "reason": "five"}
        for start, end in zip(starts, [*starts[1:], told["length"]], strict=True)
    ]
    return json.dumps({"segments": segments})


def make(name, **options):
    handed = {"embed": embed, "complete": complete}
    return make_chunker(name, **{need: handed[need] for need in needs_of(name)}, **options)

"""What an evaluation need not do twice: vectors by content hash, chunks by their settings.

Both lie below `eval/` of the state store; the folder can be deleted at any time.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
import orjson

from chunking.ids import content_hash
from jobs.worker import model_key
from storage.errors import ObjectMissingError
from storage.parts import stage_vectors, staged_vectors
from storage.protocols import Embedded, Embedder, Location, Vectors

FOLDER = "eval"


@dataclass(frozen=True, slots=True)
class Passage:
    """What of a chunk an evaluation looks at."""

    document_id: str
    content: str
    tokens: int
    parent: int = -1
    """Place of its parent among the parents; -1 where it has none."""


@dataclass(frozen=True, slots=True)
class Passages:
    """All chunks of the corpus under one setting, in order."""

    chunks: Sequence[Passage]
    parents: Sequence[Passage] = ()

    @property
    def found(self) -> Sequence[Passage]:
        """What a search gives: the parents where there are any."""
        return self.parents or self.chunks


class KeptEmbedder:
    """An embedder that keeps every vector it was ever paid for."""

    def __init__(self, embedder: Embedder, state: Location) -> None:
        self.tokens = 0
        """Embedded by this call, and not kept by an earlier one."""
        self._embedder = embedder
        self._state = state
        self._held: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    @cached_property
    def dim(self) -> int:
        return self._embedder.dim

    def embed(self, texts: Sequence[str]) -> Embedded:
        """See `Embedder.embed`; only texts that no call has embedded yet are sent."""
        hashes = [content_hash(text) for text in texts]
        if missing := {h: t for h, t in zip(hashes, texts, strict=True) if h not in self._held}:
            folder, key = f"{self._state.prefix}{FOLDER}", model_key(self.name)
            self._held |= staged_vectors(self._state.objects, [folder], missing.keys(), key)
            missing = {h: text for h, text in missing.items() if h not in self._held}
        lost: dict[str, str] = {}
        if missing:
            lost = self._pay_for(missing)
        none = np.zeros(self.dim, dtype=np.float32)
        return Embedded(
            vectors=np.stack([self._held.get(h, none) for h in hashes]),
            refused={at: lost[h] for at, h in enumerate(hashes) if h in lost},
        )

    def _pay_for(self, texts: dict[str, str]) -> dict[str, str]:
        """Embed and keep; what got no vector, with the reason."""
        embedded = self._embedder.embed(list(texts.values()))
        self.tokens += embedded.tokens
        faults = {**embedded.refused, **embedded.failed}
        got = {h: embedded.vectors[at] for at, h in enumerate(texts) if at not in faults}
        if got:
            name = content_hash("".join(sorted(got)))[:16]
            folder = f"{self._state.prefix}{FOLDER}/vectors/{model_key(self.name)}"
            vectors = np.stack([*got.values()])
            stage_vectors(self._state.objects, f"{folder}/{name}.parquet", list(got), vectors)
            self._held |= got
        hashes = list(texts)
        return {hashes[at]: reason for at, reason in faults.items()}


def kept_passages(state: Location, key: str, make: Callable[[], Passages]) -> Passages:
    """The chunks under a key; made and kept where there are none."""
    path = f"{state.prefix}{FOLDER}/chunks/{key}.json"
    try:
        told = orjson.loads(state.objects.get(path)[0])
        return Passages(
            chunks=[Passage(**each) for each in told["chunks"]],
            parents=[Passage(**each) for each in told["parents"]],
        )
    except (ObjectMissingError, ValueError, KeyError, TypeError):  # none, or of another version
        made = make()
        state.objects.put(path, orjson.dumps(asdict(made)))
        return made

"""The chunker of a configuration, with a model behind it where its strategy asks for one."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chunking.ids import content_hash
from chunking.model import Chunk, Document
from chunking.protocols import Chunked, Chunker, Complete, EmbeddingChunker, chunk_fully
from chunking.strategies import needs_of
from jobs.config import ChunkingSettings, ConfigError
from storage.errors import StoreUnavailableError
from storage.protocols import Embedder

HELD_BYTES = 64 * 2**20
"""Of vectors that a worker remembers: 30,000 sentences of 512 dimensions."""

Vector = NDArray[np.float32]


def open_chunker(
    settings: ChunkingSettings,
    embedder: Callable[[], Embedder],
    complete: Complete | None = None,
) -> Chunker:
    """Make the chunker; the embedder is opened when the first sentence needs a vector.

    Raises:
        ValueError: An unknown strategy or option.
        ConfigError: The strategy needs a chat model, and none is given.
    """
    needs = needs_of(settings.strategy)
    models: dict[str, Callable[..., Any]] = {}
    if "complete" in needs:
        if complete is None:
            raise ConfigError(f"the strategy {settings.strategy!r} needs a chat model.")
        models["complete"] = complete
    if "embed" not in needs:
        return settings.open(models)
    vectors = SentenceVectors(embedder)
    return VectorChunker(settings.open({**models, "embed": vectors}), vectors)


class SentenceVectors:
    """`chunking.protocols.Embed` that remembers: a sentence comes up again when it is cut by."""

    def __init__(self, embedder: Callable[[], Embedder], *, held_bytes: int = HELD_BYTES) -> None:
        self.tokens = 0
        """Embedded so far."""
        self._open = embedder
        self._held_bytes = held_bytes
        self._held: OrderedDict[str, Vector] = OrderedDict()

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embed`.

        Raises:
            ValueError: The model refuses one of the texts.
            StorageError: It does not answer.
        """
        rows = self._look_up(texts)
        missing = list(dict.fromkeys(text for text in texts if text not in rows))
        if missing:
            embedded = self._embedder.embed(missing)
            self.tokens += embedded.tokens
            for reason in embedded.refused.values():
                raise ValueError(f"a sentence cannot be embedded: {reason}")
            for reason in embedded.failed.values():
                raise StoreUnavailableError("the embedding model", self._embedder.name, reason)
            rows |= self._remember(missing, embedded.vectors)
        return np.stack([rows[text] for text in texts])

    def fetch(self, texts: Sequence[str]) -> None:
        """Embed ahead what will be asked for; what the model refuses is left for then."""
        missing = [text for text in texts if content_hash(text) not in self._held]
        if missing:
            embedded = self._embedder.embed(missing)
            self.tokens += embedded.tokens
            lost = {*embedded.refused, *embedded.failed}
            kept = [at for at in range(len(missing)) if at not in lost]
            self._remember([missing[at] for at in kept], embedded.vectors[kept])

    @cached_property
    def _embedder(self) -> Embedder:
        return self._open()

    def _look_up(self, texts: Iterable[str]) -> dict[str, Vector]:
        found = {}
        for text in texts:
            key = content_hash(text)
            if key in self._held:
                self._held.move_to_end(key)
                found[text] = self._held[key]
        return found

    def _remember(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> dict[str, Vector]:
        rows = dict(zip(texts, vectors, strict=True))
        self._held.update((content_hash(text), vector.copy()) for text, vector in rows.items())
        while len(self._held) * 4 * vectors.shape[1] > self._held_bytes:
            self._held.popitem(last=False)
        return rows


@dataclass(frozen=True, slots=True)
class VectorChunker:
    """A strategy that cuts by vectors, and the model that gives them."""

    inner: Chunker
    vectors: SentenceVectors

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.inner.settings

    def chunk(self, document: Document) -> list[Chunk]:
        return self.inner.chunk(document)

    def cut(self, document: Document) -> Chunked:
        return chunk_fully(self.inner, document)

    def prepare(self, documents: Iterable[Document]) -> None:
        """Embed the sentences of many documents in one call.

        A document that cannot even be taken apart says why when it is chunked.
        """
        texts: dict[str, None] = {}
        for document in documents:
            try:
                texts |= dict.fromkeys(self._texts_of(document))
            except Exception:  # noqa: BLE001, S112 - whatever a document does, the rest goes on
                continue
        self.vectors.fetch(list(texts))

    def _texts_of(self, document: Document) -> list[str]:
        inner = self.inner
        return inner.texts_to_embed(document) if isinstance(inner, EmbeddingChunker) else []

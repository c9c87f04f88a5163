"""Vectors for strategies that cut by meaning: of many documents at once, and each paid for once."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chunking.budget import token_counter
from chunking.ids import content_hash
from chunking.model import Chunk, Document
from chunking.protocols import Chunked, Chunker, EmbeddingChunker, chunk_fully
from storage.errors import StoreUnavailableError
from storage.protocols import Embedded, Embedder
from storage.records import Tally
from storage.sentence_vectors import Shelf

HELD_BYTES = 64 * 2**20
"""Of vectors that a worker remembers: 30,000 sentences of 512 dimensions."""
KEPT_AT_ONCE = 4096
"""Sentences embedded between two writes: what is in flight at once, and what a kill can cost."""

Vector = NDArray[np.float32]


class SentenceVectors:
    """`chunking.protocols.Embed` that remembers: a sentence comes up again when it is cut by."""

    def __init__(
        self,
        embedder: Callable[[], Embedder],
        *,
        held_bytes: int = HELD_BYTES,
        is_dry: bool = False,
    ) -> None:
        """Nothing is opened before a vector is needed.

        Args:
            embedder: How to open the model.
            held_bytes: Of vectors in memory; those that are being cut by stay in any case.
            is_dry: Embed nothing: a text without a kept vector is counted, and has zeros.
        """
        self._open = embedder
        self._held_bytes = held_bytes
        self._is_dry = is_dry
        self._held: OrderedDict[str, Vector] = OrderedDict()
        self._work = Tally()

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embed`.

        Raises:
            ValueError: The model refuses one of the texts.
            StorageError: It does not answer.
        """
        rows = {
            text: row for text in texts if (row := self._held.get(content_hash(text))) is not None
        }
        missing = list(dict.fromkeys(text for text in texts if text not in rows))
        if missing and self._is_dry:
            none = np.zeros_like(next(iter(self._held.values()), np.zeros(1, np.float32)))
            rows |= dict.fromkeys(missing, none)
        elif missing:
            embedded = self._embed(missing)
            for reason in embedded.refused.values():
                raise ValueError(f"a sentence cannot be embedded: {reason}")
            for reason in embedded.failed.values():
                raise StoreUnavailableError("the embedding model", self._embedder.name, reason)
            rows |= zip(missing, embedded.vectors, strict=True)
            self._hold(map(content_hash, missing), embedded.vectors)
            self._forget({content_hash(text) for text in texts})
        return np.stack([rows[text] for text in texts])

    def fetch(self, texts: Iterable[str], shelf: Shelf | None = None) -> None:
        """Have the vectors of these texts at hand.

        Those that stand on the shelf are read; the others are embedded, and put there before they
        are used. What the model refuses is left for when it is asked for.
        """
        wanted = {content_hash(text): text for text in texts}
        missing = [key for key in wanted if key not in self._held]
        if shelf is not None and missing:
            found = shelf.find(missing)
            self._work += Tally(sentences_reused=len(found))
            self._hold(found.keys(), found.values())
            missing = [key for key in missing if key not in found]
        for start in range(0, len(missing), KEPT_AT_ONCE):
            keys = missing[start : start + KEPT_AT_ONCE]
            self._pay_for(keys, [wanted[key] for key in keys], shelf)
        self._forget(wanted)

    def take_work(self) -> Tally:
        """What was done since this was last asked for."""
        work, self._work = self._work, Tally()
        return work

    @property
    def capacity(self) -> int:
        """Sentences that can be held."""
        return self._held_bytes // (4 * self._embedder.dim)

    def _pay_for(self, keys: Sequence[str], texts: Sequence[str], shelf: Shelf | None) -> None:
        if self._is_dry:
            tokens = sum(map(token_counter("cl100k_base").count, texts))
            self._work += Tally(sentences=len(texts), sentence_tokens=tokens)
            return
        embedded = self._embed(texts)
        lost = {*embedded.refused, *embedded.failed}
        usable = [at for at in range(len(keys)) if at not in lost]
        fresh, vectors = [keys[at] for at in usable], embedded.vectors[usable]
        if shelf is not None and fresh:
            shelf.keep(fresh, vectors)
        self._hold(fresh, vectors)

    def _embed(self, texts: Sequence[str]) -> Embedded:
        embedded = self._embedder.embed(texts)
        self._work += Tally(
            sentences=len(texts) - len(embedded.refused) - len(embedded.failed),
            sentence_tokens=embedded.tokens,
            requests=embedded.requests,
            retries=embedded.retries,
            slow_downs=embedded.slow_downs,
        )
        return embedded

    @cached_property
    def _embedder(self) -> Embedder:
        return self._open()

    def _hold(self, keys: Iterable[str], vectors: Iterable[Vector]) -> None:
        # A copy each: a view would keep the whole answer in memory for the sake of one row.
        self._held.update((key, vector.copy()) for key, vector in zip(keys, vectors, strict=True))

    def _forget(self, wanted: "Mapping[str, Any] | set[str]") -> None:
        """Drop the oldest until the rest fits; never what is wanted now."""
        for key in wanted:
            if key in self._held:
                self._held.move_to_end(key)
        while self._held and next(iter(self._held)) not in wanted:
            size = next(iter(self._held.values())).nbytes
            if len(self._held) * size <= self._held_bytes:
                break
            self._held.popitem(last=False)


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

    def sentences_of(self, document: Document) -> list[str]:
        """What will be asked for; nothing of a document that cannot even be taken apart.

        That one says why when it is chunked.
        """
        if not isinstance(self.inner, EmbeddingChunker):
            return []
        try:
            return self.inner.texts_to_embed(document)
        except Exception:  # noqa: BLE001 - whatever a document does, the rest goes on
            return []

    def batches(self, documents: Iterable[Document]) -> Iterator[tuple[list[Document], list[str]]]:
        """Consecutive documents whose sentences can be held together, with those; one at least."""
        batch: list[Document] = []
        sentences: dict[str, None] = {}
        for document in documents:
            found = dict.fromkeys(self.sentences_of(document))
            if batch and len(sentences | found) > self.vectors.capacity:
                yield batch, list(sentences)
                batch, sentences = [], {}
            batch.append(document)
            sentences |= found
        if batch:
            yield batch, list(sentences)

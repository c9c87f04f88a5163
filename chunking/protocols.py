"""What a chunking strategy is to the rest of the project."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from chunking.model import Chunk, Document


class Chunker(Protocol):
    """One strategy with its settings, checked when it was built."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that shapes the chunks as JSON values, strategy and algorithm version included.

        It goes into the fingerprint: equal settings give equal chunks of equal documents.
        """

    def chunk(self, document: Document) -> list[Chunk]:
        """Cut one document, in reading order; no text gives no chunk.

        The same document gives the same chunks in every process. Keeps every letter of the body
        once and in order (overlap, prefixes and repeated headers apart).
        """


Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Vectors of n texts, none of them blank: shape (n, dim), rows of Euclidean length 1."""
Complete = Callable[[str, str], str]
"""The answer of a chat model to a system and a user message: JSON, if it does as it is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunked:
    """All that came of one document."""

    chunks: Sequence[Chunk]
    """What is searched."""
    parents: Sequence[Chunk] = ()
    """What `Chunk.parent_id` names: read, not searched. Numbered behind the chunks."""
    warnings: Sequence[str] = ()
    """For the report, with counts: "furniture skipped: 3"."""


@runtime_checkable
class FullChunker(Protocol):
    """A strategy that has more to give than chunks."""

    def cut(self, document: Document) -> Chunked:
        """As `Chunker.chunk`, with parents and warnings."""


@runtime_checkable
class EmbeddingChunker(Protocol):
    """A strategy that cuts by vectors."""

    def texts_to_embed(self, document: Document) -> list[str]:
        """What `chunk` will ask vectors for: so that many documents can share one request."""


def chunk_fully(chunker: Chunker, document: Document) -> Chunked:
    """All that a chunker, of this project or another's, makes of a document."""
    if isinstance(chunker, FullChunker):
        return chunker.cut(document)
    return Chunked(chunks=chunker.chunk(document))

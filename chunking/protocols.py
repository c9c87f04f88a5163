"""What a chunking strategy is to the rest of the project."""

from collections.abc import Mapping
from typing import Any, Protocol

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

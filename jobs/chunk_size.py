"""How large a chunk may be by the settings of its strategy, in the strategy's own unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chunking import Chunk

_LARGEST = ("child_size", "max_size", "max_chars", "max_coarse_len", "size")
"""Options that bound a chunk; each strategy but `structure` has one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSize:
    most: int
    """What the strategy's own size lets a chunk have, prefix included."""
    unit: Literal["tokens", "characters"]
    max_tokens: int
    """The hard maximum beside it."""

    def of(self, chunk: Chunk) -> int:
        """Of this chunk, in that unit."""
        return chunk.token_count if self.unit == "tokens" else len(chunk.content)

    def fill(self, chunk: Chunk) -> float:
        """How full it is, from 0 to 1, by whichever limit it is nearer to."""
        return max(self.of(chunk) / self.most, chunk.token_count / self.max_tokens)


def chunk_size(settings: Mapping[str, Any]) -> ChunkSize:
    """Read it from `Chunker.settings`."""
    max_tokens = int(settings["max_tokens"])
    own = next((int(settings[name]) for name in _LARGEST if name in settings), None)
    if own is None:
        return ChunkSize(most=max_tokens, unit="tokens", max_tokens=max_tokens)
    unit: Literal["tokens", "characters"] = (
        "characters" if settings["unit"] == "chars" else "tokens"
    )
    return ChunkSize(most=own, unit=unit, max_tokens=max_tokens)

"""Which texts go into which request, and which go into none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from storage.embedding_settings import EmbeddingSettings

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """Of the service; a request is built to keep them before it is sent."""

    input_tokens: int
    request_tokens: int
    request_inputs: int

    @classmethod
    def of(cls, settings: EmbeddingSettings) -> Self:
        return cls(
            input_tokens=settings.max_input_tokens,
            request_tokens=settings.max_request_tokens,
            request_inputs=settings.max_request_inputs,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One request."""

    places: tuple[int, ...]
    """Of its texts in the call, in order."""
    token_counts: tuple[int, ...]
    """Of each text, by our tokenizer."""

    @property
    def tokens(self) -> int:
        return sum(self.token_counts)

    def halves(self) -> "tuple[Batch, Batch]":
        """Both parts of a batch of two or more texts."""
        middle = len(self.places) // 2
        return (
            Batch(places=self.places[:middle], token_counts=self.token_counts[:middle]),
            Batch(places=self.places[middle:], token_counts=self.token_counts[middle:]),
        )


def plan_batches(
    texts: Sequence[str], limits: BatchLimits, count_tokens: CountTokens
) -> tuple[list[Batch], dict[int, str]]:
    """Fill requests in the order of the texts.

    Returns:
        The requests, and the place and reason of each text that no request may hold.

    Raises:
        ValueError: A text is blank. Services refuse the whole request for it, so the caller must
            have dropped it.
    """
    batches: list[Batch] = []
    refused: dict[int, str] = {}
    places: list[int] = []
    counts: list[int] = []
    total = 0
    for place, text in enumerate(texts):
        if not text.strip():
            raise ValueError(f"text {place} of {len(texts)} is blank; drop it before embedding.")
        if not _is_unicode(text):
            refused[place] = "it holds half of a surrogate pair, which UTF-8 cannot carry"
            continue
        tokens = count_tokens(text)
        if tokens > limits.input_tokens:
            refused[place] = f"it has {tokens} tokens; the model takes {limits.input_tokens}"
            continue
        if places and (
            len(places) == limits.request_inputs or total + tokens > limits.request_tokens
        ):
            batches.append(Batch(places=tuple(places), token_counts=tuple(counts)))
            places, counts, total = [], [], 0
        places.append(place)
        counts.append(tokens)
        total += tokens
    if places:
        batches.append(Batch(places=tuple(places), token_counts=tuple(counts)))
    return batches, refused


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

"""Running text over budget: whole sentences, and windows only where a sentence does not fit."""

from collections.abc import Iterator

from chunking.budget import Room
from chunking.packing import fill
from chunking.sentences import SentenceSplitter, sentence_ends
from chunking.text import is_blank
from chunking.windows import windows


def running_spans(
    text: str, room: Room, split: SentenceSplitter, *, window_tokens: int
) -> Iterator[tuple[int, int]]:
    """Sentences of `text` as (start, end), without a gap; all of them fit.

    Args:
        text: What does not fit as a whole.
        room: The budget.
        split: Finds the sentences.
        window_tokens: Size of the pieces of a sentence that does not fit.
    """
    start = 0
    for end in sentence_ends(text, split):
        sentence = text[start:end]
        if room.fits(sentence):
            yield start, end
            start = end
            continue
        for piece in windows(sentence, room.counter, window_tokens, room.fits):
            yield start, start + len(piece)
            start += len(piece)


def split_running(text: str, room: Room, split: SentenceSplitter) -> list[str]:
    """Cut `text` into passages that fit, without overlap."""
    if room.fits(text):
        return [text]
    spans = list(running_spans(text, room, split, window_tokens=room.tokens))
    sizes = [room.counter.count(text[start:end]) for start, end in spans]

    def passage(first: int, last: int) -> str:
        return text[spans[first][0] : spans[last - 1][1]].strip()

    passages: list[str] = []
    first = 0
    while first < len(spans):
        last = fill(sizes, first, room.tokens, lambda i, j: room.fits(passage(i, j)))
        if not is_blank(body := passage(first, last)):
            passages.append(body)
        first = last
    return passages

"""Running text over budget: whole sentences, and windows only where a sentence does not fit."""

import re
from collections.abc import Iterator

from chunking.atoms import escape_fence
from chunking.budget import Room
from chunking.packing import fill
from chunking.sentences import SentenceSplitter, sentence_ends
from chunking.text import is_blank
from chunking.windows import windows

_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)*")


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Take off blank lines before and blanks behind; a line's own indentation stays."""
    piece = text[start:end]
    end -= len(piece) - len(piece.rstrip())
    match = _BLANK_LINES.match(text, start, end)
    start = match.end() if match else start
    if start > 0 and text[start - 1] != "\n":
        start += len(text[start:end]) - len(text[start:end].lstrip())
    return min(start, end), end


def body_at(text: str, start: int, end: int) -> str:
    """What stands in a chunk for `text[start:end]`."""
    is_cut = end < len(text) and "\n" not in (text[end - 1], text[end])
    start, end = trim(text, start, end)
    body = text[start:end]
    if start > 0 and text[start - 1] != "\n":
        body = escape_fence(body)
    return _escape_last(body) if is_cut else body


def _escape_last(body: str) -> str:
    """The last line is cut: it may have lost what told it from the opening of a fence."""
    before, line_end, line = body.rpartition("\n")
    return before + line_end + escape_fence(line)


def running_spans(
    text: str,
    start: int,
    end: int,
    room: Room,
    split: SentenceSplitter,
    *,
    window_tokens: int,
) -> Iterator[tuple[int, int]]:
    """Sentences of `text[start:end]` as (start, end), without a gap; the body of each fits.

    Args:
        text: Holds what does not fit as a whole.
        start: Where that begins.
        end: Where it ends.
        room: The budget.
        split: Finds the sentences.
        window_tokens: Size of the pieces of a sentence that does not fit.
    """

    def fits(first: int, last: int) -> bool:
        return room.fits(body_at(text, first, last))

    origin = start
    for place in sentence_ends(text[start:end], split):
        sentence_end = origin + place
        if fits(start, sentence_end):
            yield start, sentence_end
            start = sentence_end
            continue
        for cut in windows(text, start, sentence_end, room.counter, window_tokens, fits):
            yield start, cut
            start = cut


def split_running(text: str, room: Room, split: SentenceSplitter) -> list[str]:
    """Cut `text` into passages that fit, without overlap."""
    if room.fits(text):
        return [text]
    spans = list(running_spans(text, 0, len(text), room, split, window_tokens=room.tokens))

    def size_of(at: int) -> int:
        return room.counter.count(text[slice(*spans[at])])

    def passage(first: int, last: int) -> str:
        return body_at(text, spans[first][0], spans[last - 1][1])

    passages: list[str] = []
    first = 0
    while first < len(spans):
        last = fill(size_of, first, len(spans), room.tokens, lambda i, j: room.fits(passage(i, j)))
        if not is_blank(body := passage(first, last)):
            passages.append(body)
        first = last
    return passages

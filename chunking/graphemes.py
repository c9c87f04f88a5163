"""Where what a reader takes for one character ends."""

import re
from collections.abc import Callable, Iterator

import regex

from chunking.budget import Counter

_GRAPHEME = regex.compile(r"\X")
_TWO_PLAIN = re.compile("[\t\n -~\u3001-\u3029\u4e00-\u9fff\uff01-\uff5e]{2}")
"""Two characters that are a grapheme each, whatever stands around them."""


def grapheme_before(text: str, start: int, end: int) -> int:
    """The last boundary behind `start` that is not behind `end`; `end` if there is none."""
    if end > start and _TWO_PLAIN.match(text, end - 1):
        return end
    boundary = start
    for match in _GRAPHEME.finditer(text, start, min(len(text), end + 1)):
        if match.end() > end:
            break
        boundary = match.end()
    return boundary if boundary > start else end


def grapheme_after(text: str, start: int, place: int, end: int) -> int:
    """The first boundary at `place` or behind it, counted from `start`; `end` at the latest."""
    if start < place < end and _TWO_PLAIN.match(text, place - 1):
        return place
    for match in _GRAPHEME.finditer(text, start, end):
        if match.end() >= place:
            return match.end()
    return end


def grapheme_windows(
    text: str,
    start: int,
    end: int,
    counter: Counter,
    size: int,
    fits: Callable[[int, int], bool],
) -> Iterator[int]:
    """Cut `text[start:end]` into pieces of at most `size` that fit; yields their ends.

    A grapheme is cut only where it does not fit alone.
    """
    while start < end:
        cut = longest_window(text, start, end, counter, size, fits)
        yield cut
        start = cut


def longest_window(
    text: str,
    start: int,
    end: int,
    counter: Counter,
    size: int,
    fits: Callable[[int, int], bool],
) -> int:
    """Where the first of the pieces of `grapheme_windows` ends."""
    cut = min(counter.head(text, start, size), end)
    if cut < end:
        cut = grapheme_before(text, start, max(cut, start + 1))
    while cut > start + 1 and not fits(start, cut):
        cut = grapheme_before(text, start, cut - max(1, (cut - start) // 32))
    return cut

"""The last resort: a text without a sentence end, cut where it hurts least."""

from collections.abc import Callable, Iterator

import regex

from chunking.budget import Counter
from chunking.graphemes import grapheme_before

# Best place first; each is found backwards from where the budget ends, and none lies before a mark
# that belongs to the character before it.
_SIGNS = "，、,：:；;。！？!?)）」』”】》"
_PLACES = (
    (regex.compile(rf"(?r)(?<=[{_SIGNS}]\s*)(?=[^\s\p{{M}}\u200d{_SIGNS}])"), 4),
    (regex.compile(r"(?r)(?<=\s)(?=[^\s\p{M}\u200d])"), 2),
    (regex.compile(r"(?r)(?<![\p{L}\p{N}\p{M}_])(?=[\p{L}\p{N}_])|(?<=\p{Han})(?=\p{L})"), 2),
)
"""The pattern of a place, and the share of the piece that may be given up for it: one in n."""


def windows(
    text: str,
    start: int,
    end: int,
    counter: Counter,
    tokens: int,
    fits: Callable[[int, int], bool],
) -> Iterator[int]:
    """Cut `text[start:end]` into pieces of about `tokens` tokens that fit; yields their ends.

    No piece ends inside a character, nor inside a grapheme while one fits. It ends behind a clause,
    a blank or a word where one of them is near.
    """
    while start < end:
        cut = min(counter.head(text, start, tokens), end)
        if cut < end:
            cut = cut_before(text, start, cut)
        while cut > start + 1 and not fits(start, cut):
            cut = cut_before(text, start, cut - max(1, (cut - start) // 32))
        yield cut
        start = cut


def cut_before(text: str, start: int, end: int) -> int:
    """The best place in `text` to end a piece that begins at `start`, at `end` or before it."""
    end = max(end, start + 1)
    for place, share in _PLACES:
        if match := place.search(text, end - (end - start) // share, end):
            return match.start()
    return grapheme_before(text, start, end)

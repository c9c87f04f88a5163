"""Sizes in characters, under a hard maximum of tokens."""

from dataclasses import dataclass

from chunking.budget import Counter, PlainRoom, Room
from chunking.prefix import room_under

_MOST_TOKENS = 4
"""Tokens of one character, at most: a token has one byte at least."""

_TIGHT = 64
"""Tokens under which they are what binds: a fence or a header must have room among them."""


@dataclass(frozen=True, slots=True)
class CharCounter:
    """Counts characters; looks ahead only as far as the tokens reach, too."""

    hard: Counter
    max_tokens: int
    lines_add_up: bool = True

    def count(self, text: str) -> int:
        return len(text)

    def head(self, text: str, start: int, tokens: int) -> int:
        end = min(start + tokens, len(text))
        if _MOST_TOKENS * (end - start) > self.max_tokens:
            end = min(end, self.hard.head(text, start, self.max_tokens))
        return end


@dataclass(frozen=True, slots=True)
class CharRoom:
    """Two limits for one text: characters, and tokens."""

    chars: PlainRoom
    hard: PlainRoom

    @property
    def counter(self) -> Counter:
        return self._planned.counter

    @property
    def prefix(self) -> str:
        return self.chars.prefix

    @property
    def tokens(self) -> int:
        return self._planned.tokens

    @property
    def _planned(self) -> PlainRoom:
        """The limit that is reckoned with; `fits` asks for both."""
        return self.hard if self.hard.tokens < _TIGHT else self.chars

    def fits(self, body: str) -> bool:
        return self.chars.fits(body) and self.hard.fits(body)


def char_room_under(heading: str, counter: Counter, size: int, max_tokens: int) -> Room:
    """Room for bodies of at most `size` characters and `max_tokens` tokens, heading included.

    The heading is cut as in `room_under`, by the smaller of its two shares.
    """
    shortened = room_under(heading, counter, max_tokens).prefix.removesuffix("\n")
    left = max_tokens - counter.count(shortened + "\n")
    chars = room_under(shortened, CharCounter(counter, left), size)
    return CharRoom(chars, room_under(chars.prefix.removesuffix("\n"), counter, max_tokens))

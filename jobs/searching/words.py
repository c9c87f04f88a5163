"""The words of a query, Chinese and English alike, and where they stand in a text."""

import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from types import ModuleType

import regex

Span = tuple[int, int]

_HAN = regex.compile(r"\p{Han}+")
_OTHER = r"[^\W\p{Han}]"
"""A letter, digit or underscore of any script but the Chinese."""
_WORD = regex.compile(rf"{_OTHER}+(?:[-.']{_OTHER}+)*")
_IDLE = frozenset(
    """
    a an and are as at be by can could do does did for from had has have how i if in is it its me my
    not of on or our should that the their there they this to was we were what when where which who
    why will with would you your
    为什么 什么 什么样 怎么 怎样 怎么办 如何 哪里 哪个 哪些 多少 是否 可以 我们 你们 这个 那个 以及
    或者 还是 一个 没有 应该 需要 能不能 会不会 是不是
    """.split()  # noqa: SIM905 - a list of sixty strings reads worse
)
"""Words that a question is full of, and that stand in every passage."""


def query_words(query: str) -> tuple[str, ...]:
    """What is worth finding: longest first, function words and single characters left out.

    Chinese is cut by jieba, the analyser of BM25 search, into words and the words inside them. If
    nothing but function words and single characters is left, they count.
    """
    words = dict.fromkeys(_words(query.lower()))
    telling = [word for word in words if word not in _IDLE and (len(word) > 1 or word.isdigit())]
    return tuple(sorted(telling or words, key=len, reverse=True))


def find_words(words: Sequence[str], text: str) -> list[Span]:
    """Where the words stand, in order, not overlapping. English ones also in the plural."""
    if not words:
        return []
    return [match.span() for match in _pattern(tuple(words)).finditer(text)]


def best_window(spans: Sequence[Span], size: int, length: int) -> Span:
    """The stretch of at most `length` characters that holds most of what was found.

    Args:
        spans: As `find_words` gives them.
        size: Of the text.
        length: Of the stretch.

    Returns:
        The whole text where it fits; its start where nothing was found.
    """
    if size <= length or not spans:
        return 0, min(size, length)
    lead = length // 5
    starts = [min(max(0, start - lead), size - length) for start, _ in spans]
    start = max(starts, key=lambda at: _held(spans, at, at + length))
    return start, start + length


def cut_words(text: str) -> list[str]:
    """Every word of a text in lower case, as BM25 counts them."""
    return list(_words(text.lower()))


def _words(text: str) -> Iterator[str]:
    for run in _HAN.findall(text):
        yield from _jieba().cut_for_search(run)
    yield from _WORD.findall(text)


def _held(spans: Sequence[Span], start: int, end: int) -> int:
    return sum(last - first for first, last in spans if start <= first and last <= end)


@cache
def _pattern(words: tuple[str, ...]) -> "regex.Pattern[str]":
    either = "|".join(
        regex.escape(word)
        if _HAN.match(word)
        else rf"(?<!{_OTHER}){regex.escape(word)}(?:s|es)?(?!{_OTHER})"
        for word in words
    )
    return regex.compile(either, regex.IGNORECASE)


@cache
def _jieba() -> ModuleType:
    """Imported when there is Chinese: its dictionary takes most of a second."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pkg_resources, and of its own escapes
        import jieba  # noqa: PLC0415
    jieba.setLogLevel("ERROR")
    return jieba  # type: ignore[no-any-return]  # it has no types

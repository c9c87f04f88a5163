"""Runs of one paragraph, cut apart where bold, links or code begin, put together again."""

from collections.abc import Iterable

_NO_BLANK_BEFORE = frozenset(",.;:!?)]}%”’»、。，；：！？）】》」』…")
_NO_BLANK_AFTER = frozenset("([{“‘«（【《「『$#@/")


def join_runs(runs: Iterable[str]) -> str:
    """Join with a blank where a reader would expect one: not before a comma, nor between 汉字."""
    pieces: list[str] = []
    for run in filter(None, runs):
        if pieces and _needs_blank(pieces[-1][-1], run[0]):
            pieces.append(" ")
        pieces.append(run)
    return "".join(pieces)


def _needs_blank(before: str, after: str) -> bool:
    return not (
        before.isspace()
        or after.isspace()
        or before in _NO_BLANK_AFTER
        or after in _NO_BLANK_BEFORE
        or _is_unspaced(before)
        or _is_unspaced(after)
    )


def _is_unspaced(char: str) -> bool:
    """Whether a character is of a script without blanks: 汉字, kana, full-width forms."""
    return "\u2e80" <= char <= "\ua4cf" or "\uf900" <= char <= "\uffee" or char >= "\U00020000"

"""The line before each body that tells where in the document it stands."""

from collections.abc import Sequence

from chunking.budget import LONGEST_TOKEN, Counter, PlainRoom
from chunking.windows import windows


def heading_line(label: str, path: Sequence[str]) -> str:
    """`章节：A > B`; "" where there is no heading."""
    return label + " > ".join(path) if path else ""


def room_under(heading: str, counter: Counter, max_tokens: int) -> PlainRoom:
    """Room for bodies under `heading`, which is cut at a whole character when it is too long.

    It gets at most max(16, a quarter of the budget) tokens, and never more than half of it.
    """
    share = min(max(16, max_tokens // 4), max_tokens // 2)
    least, most = len(heading), len(heading.encode())  # bytes: a token holds 1 to 128 of them
    if most > share and (least > LONGEST_TOKEN * share or counter.count(heading) > share):
        ends = windows(
            heading,
            0,
            len(heading),
            counter,
            share,
            lambda start, end: counter.count(heading[start:end].rstrip()) <= share,
        )
        heading = heading[: next(ends)].rstrip()
    prefix = heading + "\n" if heading else ""
    return PlainRoom(counter, max_tokens, prefix, max_tokens - counter.count(prefix))

"""Greedy packing of whole units under a budget, and the overlap between two packs."""

from collections.abc import Callable

SizeOf = Callable[[int], int]
"""The size of one unit. It is asked for where the unit is packed, while its counter still knows
it, and may be asked for twice."""
Fits = Callable[[int, int], bool]
"""Whether the units from the first to the one before the last fit when they stand together."""

_SLACK = 4
"""Tokens by which a sum of sizes may lie above the size of the whole: near the limit, ask."""


def fill(size_of: SizeOf, first: int, stop: int, limit: int, fits: Fits) -> int:
    """Take units from `first` on, up to `stop`, while they fit; at least one, known to fit.

    Sizes need not add up exactly: they say how far to go, `fits` has the last word.

    Returns:
        One past the last unit taken.
    """
    used = size_of(first)
    last = first + 1
    while last < stop:
        with_next = used + size_of(last)
        over = with_next - limit
        if over > _SLACK or (over > 0 and not fits(first, last + 1)):
            break
        used = with_next
        last += 1
    is_known = last == first + 1 or fits(first, last)
    return last if is_known else _last_that_fits(first, last, fits)


def _last_that_fits(first: int, last: int, fits: Fits) -> int:
    """Halve the way back, for sizes may count another unit than `fits` has its limit in."""
    low, high = first + 1, last
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(first, middle) else (low, middle)
    return low


def carry_over(
    size_of: SizeOf, first: int, last: int, *, overlap: int, limit: int, fits: Fits
) -> int:
    """Where the next pack begins when units `first` to `last` - 1 were one and `last` follows.

    It repeats the last few whole units up to `overlap` tokens, never all of them. Where they leave
    no room for the new unit they give way, the earliest first.
    """
    start, carried = last, 0
    while start > first + 1 and carried + (size := size_of(start - 1)) <= overlap:
        start -= 1
        carried += size
    following = size_of(last)
    while start < last and (carried + following > limit + _SLACK or not fits(start, last + 1)):
        carried -= size_of(start)
        start += 1
    return start

"""Boxes of page elements, all with the origin at the top left."""

from collections.abc import Iterable

from chunking.model import Box


def top_left_box(
    left: float,
    top: float,
    right: float,
    bottom: float,
    *,
    page_size: tuple[float, float] | None,
    from_bottom: bool,
) -> Box | None:
    """Bring one box to the top-left origin and into its page.

    Args:
        left: Horizontal edges grow rightwards in every format.
        top: Vertical edges, as far from the origin as the format says.
        right: As `left`.
        bottom: As `top`.
        page_size: Width and height; the box is cut to it.
        from_bottom: Whether the origin is at the bottom left, as in PDF.

    Returns:
        None for a box without area, and for one from the bottom of a page of unknown height.
    """
    if from_bottom:
        if page_size is None:
            return None
        top, bottom = page_size[1] - top, page_size[1] - bottom
    x0, x1 = sorted((left, right))
    y0, y1 = sorted((top, bottom))
    if page_size is not None:
        x0, x1 = max(x0, 0.0), min(x1, page_size[0])
        y0, y1 = max(y0, 0.0), min(y1, page_size[1])
    if x0 >= x1 or y0 >= y1:
        return None
    return round(x0, 3), round(y0, 3), round(x1, 3), round(y1, 3)


def enclosing_box(boxes: Iterable[Box | None]) -> Box | None:
    """The smallest box around all that are known."""
    known = [box for box in boxes if box is not None]
    if not known:
        return None
    lefts, tops, rights, bottoms = zip(*known, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)

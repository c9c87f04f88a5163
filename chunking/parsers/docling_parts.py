"""Slides and sheets of a DoclingDocument, which are no pages."""

import re
from dataclasses import dataclass

from chunking.model import Box
from chunking.parsers.docling_tree import Item
from chunking.parsers.fields import name_of
from chunking.parsers.images import without_data_uris
from chunking.text import clean_text

_SLIDE = re.compile(r"slide-(\d{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part:
    """The slide or sheet that a branch of the tree belongs to."""

    slide: int | None = None
    sheet: str | None = None


def part_of(item: Item, part: Part) -> Part:
    """The slide or sheet that begins with this group, else that around it."""
    label = name_of(item.get("label"))
    name = without_data_uris(clean_text(name_of(item.get("name"))))
    if label == "chapter" and (slide := _SLIDE.match(name)):
        return Part(slide=int(slide[1]) + 1)
    if label == "sheet" and name:
        return Part(sheet=name.removeprefix("sheet: "))
    return part


def a1_range(box: Box | None) -> str | None:
    """A1 notation of a table on a sheet; Docling counts its cells as units of the box."""
    if box is None:
        return None
    left, top, right, bottom = map(round, box)
    return f"{_column_name(left)}{top + 1}:{_column_name(right - 1)}{bottom}"


def _column_name(index: int) -> str:
    """Name a column, 0 is A, as spreadsheets do: base 26 without a zero."""
    name = ""
    number = index + 1
    while number > 0:
        number, letter = divmod(number - 1, 26)
        name = chr(ord("A") + letter) + name
    return name

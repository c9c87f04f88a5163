"""Element lists of Unstructured, plain or already chunked."""

import re
from collections import Counter
from dataclasses import replace
from typing import Any

from chunking.model import Block, BlockKind, Box, Document
from chunking.parsers.boxes import top_left_box
from chunking.parsers.errors import ParseError
from chunking.parsers.fields import (
    list_of,
    mapping_of,
    name_of,
    number_of,
    ordinal_of,
    text_of,
    whole_of,
)
from chunking.parsers.html import HtmlTable, has_table, html_tables
from chunking.parsers.images import link_of, without_data_uris
from chunking.parsers.source import decode_json, require_document_id, told
from chunking.parsers.unstructured_parts import NOISE, Element, kind_of, opened
from chunking.text import clean_text

_TABLES = frozenset({"Table", "TableChunk"})
_BLANKS = re.compile(r"\s+")
_PARAGRAPH_GAP = re.compile(r"\n\s*\n")
_MARKER = re.compile(
    r"[-*+•·◦▪–]\s|[(（]?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[一二三四五六七八九十]{1,3})(?:[.)]\s|[、）])"
)
"""What a list item's text may begin with already."""
_MAX_DEPTH = 20
"""Of list items, for their indentation."""


def parse_unstructured(
    value: str | bytes | list[Any],
    *,
    document_id: str,
    file_title: str = "",
    source: str = "",
    include_furniture: bool = False,
) -> Document:
    """Read an element list of Unstructured.

    Only titles make headings, their level being `category_depth`, by list order (`parent_id` leads
    astray). Tables come from `text_as_html`. Chunks are opened into their original elements.

    Args:
        value: The JSON, as text, bytes or decoded.
        document_id: Stable and never altered.
        file_title: Stays empty when nothing is given.
        source: Falls back to the `filename` of the first element.
        include_furniture: Keep running heads and feet and page numbers, as paragraphs.

    Raises:
        ParseError: Not JSON, not a list, or `orig_elements` that unpack without end.
        ValueError: `document_id` is empty or cannot be stored.
    """
    require_document_id(document_id)
    tally: Counter[str] = Counter()
    decoded = decode_json(value, document_id, tally)
    if not isinstance(decoded, list):
        raise ParseError(
            document_id, "", f"an element list is a list, not {type(decoded).__name__}"
        )
    elements = [element for element in decoded if isinstance(element, dict)]
    tally["elements that are no objects skipped"] = len(decoded) - len(elements)
    reader = _Reader(elements, tally, include_furniture=include_furniture)
    for element in opened(elements, document_id, tally):
        reader.read(element)
    first = mapping_of(elements[0].get("metadata")) if elements else {}
    return Document(
        document_id=document_id,
        file_title=clean_text(file_title),
        source=clean_text(source) or text_of(first.get("filename"), tally),
        blocks=tuple(reader.finished()),
        warnings=told(tally),
    )


class _Reader:
    """Takes elements in order; list items and captions wait for their neighbours."""

    def __init__(
        self, elements: list[Element], tally: Counter[str], *, include_furniture: bool
    ) -> None:
        self._tally = tally
        self._blocks: list[Block] = []
        self._items: list[Element] = []
        self._caption: Element | None = None
        self._include_furniture = include_furniture
        self._has_title_style = any(_style(element) == "Title" for element in elements)

    def finished(self) -> list[Block]:
        self._end_list()
        self._end_caption()
        return self._blocks

    def read(self, element: Element) -> None:
        kind = kind_of(element)
        if kind in NOISE and not self._include_furniture:
            if kind != "PageBreak":
                self._tally[f"{kind} skipped"] += 1
            return
        if kind == "ListItem":
            if self._items and _place(self._items[-1]) != _place(element):
                self._end_list()
            self._end_caption()
            self._items.append(element)
            return
        self._end_list()
        if kind == "FigureCaption" or _style(element) == "Caption":
            self._read_caption(element)
        elif kind in _TABLES or has_table(self._html(element)):
            self._read_table(element)
        elif kind == "Image":
            self._read_image(element)
        else:
            self._end_caption()
            self._read_words(element)

    def _read_words(self, element: Element) -> None:
        kind, text = kind_of(element), self._text(element)
        if kind == "Title":
            self._read_title(element, " ".join(text.split()))
        elif kind == "CodeSnippet":
            self._add("code", text, element)
        elif kind == "Formula":
            self._add("formula", text.strip(), element)
        elif kind == "CompositeElement":
            for paragraph in _PARAGRAPH_GAP.split(text):
                self._add("paragraph", paragraph.strip(), element)
        else:
            self._add("paragraph", text.strip(), element)

    def _read_title(self, element: Element, text: str) -> None:
        """Depth counts from 0; a Word document's title has depth 0, like its first headings."""
        if not text:
            self._tally["empty headings skipped"] += 1
            return
        depth = ordinal_of(mapping_of(element.get("metadata")).get("category_depth")) or 0
        level = 1 if _style(element) == "Title" else depth + 1 + self._has_title_style
        self._add("heading", text, element, level=level)

    def _read_table(self, element: Element) -> None:
        """Tables from HTML; text that is not in them, of a composite, stays around them."""
        html, text = self._html(element), self._text(element).strip()
        tables = html_tables(html) if has_table(html) else []
        if not any(table.text for table in tables):
            self._add("table", text, element, caption=self._caption_text())
            return
        words = _letters("".join(table.caption + table.text for table in tables))
        is_composite = kind_of(element) not in _TABLES
        around = _PARAGRAPH_GAP.split(text) if is_composite else []
        for paragraph in around:
            if _letters(paragraph) not in words:
                self._add("paragraph", paragraph.strip(), element)
        for table in tables:
            self._add_table(table, element)

    def _add_table(self, table: HtmlTable, element: Element) -> None:
        caption = table.caption or self._caption_text()
        self._add("table", table.text, element, caption=caption or None)

    def _read_image(self, element: Element) -> None:
        uri = link_of(mapping_of(element.get("metadata")).get("image_url"))
        text = self._text(element).strip()
        caption = self._caption_text()
        if text or caption:
            self._add("image", text, element, caption=caption, image_uri=uri)
        else:
            self._tally["pictures without text skipped"] += 1

    def _read_caption(self, element: Element) -> None:
        """Give a caption to the table or picture before it, else to the one behind it."""
        self._end_caption()
        last = self._blocks[-1] if self._blocks else None
        text = self._text(element).strip()
        if last is not None and last.kind in {"table", "image"} and last.caption is None and text:
            self._blocks[-1] = replace(last, caption=text)
        else:
            self._caption = element

    def _caption_text(self) -> str | None:
        """The caption that waits for an object; it is taken with that."""
        element, self._caption = self._caption, None
        return (self._text(element).strip() or None) if element is not None else None

    def _end_caption(self) -> None:
        element = self._caption
        text = self._caption_text()
        if element is not None:
            self._add("paragraph", text or "", element)

    def _end_list(self) -> None:
        """Make one list of the items so far; their depth, where told, becomes indentation."""
        items, self._items = self._items, []
        if not items:
            return
        depths = [
            whole_of(mapping_of(item.get("metadata")).get("category_depth")) or 0 for item in items
        ]
        shallowest = min(depths)
        lines: list[str] = []
        for item, depth in zip(items, depths, strict=True):
            text = self._text(item).strip()
            if text:
                margin = "  " * min(depth - shallowest, _MAX_DEPTH)
                marker = "" if _MARKER.match(text) else "- "
                lines.append(margin + marker + text.replace("\n", f"\n{margin}  "))
        self._add("list", "\n".join(lines), items[0])

    def _add(self, kind: BlockKind, text: str, element: Element, **fields: Any) -> None:
        text = text or fields.pop("caption", None) or ""  # a caption alone is what there is to say
        if not text:
            self._tally["empty blocks skipped"] += 1
            return
        metadata = mapping_of(element.get("metadata"))
        page, sheet = _place(element)
        slide = None
        if "presentation" in str(metadata.get("filetype")):
            page, slide = None, page
        self._blocks.append(
            Block(
                kind=kind,
                text=text,
                page=page,
                slide=slide,
                sheet=sheet,
                bbox=_box(metadata),
                **fields,
            )
        )

    def _text(self, element: Element) -> str:
        return text_of(element.get("text"), self._tally).strip("\n")

    def _html(self, element: Element) -> str:
        return text_of(mapping_of(element.get("metadata")).get("text_as_html"), self._tally)


def _style(element: Element) -> str:
    return name_of(mapping_of(element.get("metadata")).get("style_name"))


def _place(element: Element) -> tuple[int | None, str | None]:
    """Page and sheet; a sheet's number is not a page."""
    metadata = mapping_of(element.get("metadata"))
    sheet = without_data_uris(clean_text(name_of(metadata.get("page_name"))))
    if sheet:
        return None, sheet
    return ordinal_of(metadata.get("page_number")), None


def _box(metadata: dict[str, Any]) -> Box | None:
    """Corner points; pixels count from the top, points and relative units from the bottom."""
    coordinates = mapping_of(metadata.get("coordinates"))
    points = [list_of(point) for point in list_of(coordinates.get("points"))]
    corners = [(number_of(point[0]), number_of(point[1])) for point in points if len(point) == 2]
    xs = [x for x, _ in corners if x is not None]
    ys = [y for _, y in corners if y is not None]
    if not xs or not ys:
        return None
    width = number_of(coordinates.get("layout_width"))
    height = number_of(coordinates.get("layout_height"))
    return top_left_box(
        min(xs),
        max(ys),
        max(xs),
        min(ys),
        page_size=(width, height) if width and height else None,
        from_bottom=name_of(coordinates.get("system"))
        in {"PointSpace", "RelativeCoordinateSystem"},
    )


def _letters(text: str) -> str:
    """Text without what tells two copies of it apart: white space, pipes and rules."""
    return _BLANKS.sub("", text.replace("|", "").replace("---", "").replace("\\", ""))

"""MinerU content lists: the flat one in its old and new keys, and v2 by way of it."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from chunking.model import Block, BlockKind, Box, Document
from chunking.parsers.boxes import top_left_box
from chunking.parsers.errors import ParseError
from chunking.parsers.fields import list_of, name_of, number_of, ordinal_of, text_of, whole_of
from chunking.parsers.formulas import display_formula
from chunking.parsers.html import has_table, html_tables
from chunking.parsers.images import link_of
from chunking.parsers.mineru_v2 import flattened, is_paged
from chunking.parsers.source import decode_json, require_document_id, told
from chunking.text import clean_text

_NOISE = frozenset({"header", "footer", "page_number", "aside_text", "discarded"})
_PICTURES = frozenset({"image", "chart", "seal"})
_EQUATIONS = frozenset({"equation", "interline_equation"})
_EMPHASIS = re.compile(r"(\*{1,3})(?!\s)(.{1,500}?)(?<!\s)\1", re.DOTALL)
_FENCE = re.compile(r"[ \t]*+(`{3,}+|~{3,}+)[ \t]*+(\S*+)")
_CAPTION = re.compile(
    r"(?:(?:figure|fig\.|table|listing|algorithm)\s*\d[\d.-]*\s*[:.]"
    r"|[图表]\s*\d[\d.-]*\s|(?:代码|算法|清单)\s*\d[\d.-]*[\s:：])",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\s*(\d{1,4})[.)、]")
_PAGE_NUMBER = re.compile(r"\s*[-–—]?\s*\d{1,4}\s*[-–—]?\s*")
_BULLET = re.compile(r"\s*[-*+•]\s")


def parse_mineru(
    value: str | bytes | list[Any],
    *,
    document_id: str,
    file_title: str = "",
    source: str = "",
    include_footnotes: bool = True,
) -> Document:
    """Read a MinerU content list, v1 or v2.

    Pages are `page_idx` + 1; boxes stay in MinerU's thousandths of the page. Running heads and
    feet, page numbers and margin text go, counted by type. Lists that follow one another are one
    list again: MinerU parts them where a nested list begins.

    Args:
        value: The JSON, as text, bytes or decoded.
        document_id: Stable and never altered.
        file_title: Stays empty when nothing is given.
        source: Path or URL of the original.
        include_footnotes: Keep footnotes of pages, as paragraphs where they stand. Those of
            tables and pictures belong to their captions, and stay in any case.

    Raises:
        ParseError: Not JSON, or not a list.
        ValueError: `document_id` is empty or cannot be stored.
    """
    require_document_id(document_id)
    tally: Counter[str] = Counter()
    items = decode_json(value, document_id, tally)
    if not isinstance(items, list):
        raise ParseError(document_id, "", f"a content list is a list, not {type(items).__name__}")
    flat = list(flattened(items)) if is_paged(items) else items
    elements = [item for item in flat if isinstance(item, dict)]
    tally["elements that are no objects skipped"] = len(flat) - len(elements)
    reader = _Reader(tally, include_footnotes=include_footnotes)
    for item in _without_page_numbers(elements, tally):
        reader.read(item)
    reader.end_list()
    return Document(
        document_id=document_id,
        file_title=clean_text(file_title),
        source=clean_text(source),
        blocks=tuple(reader.blocks),
        warnings=told(tally),
    )


class _Reader:
    """Takes items in order; lists wait for what may follow them."""

    def __init__(self, tally: Counter[str], *, include_footnotes: bool) -> None:
        self.blocks: list[Block] = []
        self._tally = tally
        self._include_footnotes = include_footnotes
        self._lists: list[dict[str, Any]] = []

    def read(self, item: dict[str, Any]) -> None:
        kind = name_of(item.get("type"))
        if kind in _NOISE or (kind == "page_footnote" and not self._include_footnotes):
            self._tally[f"{kind} skipped"] += 1
            return
        if kind in {"list", "index"} and isinstance(item.get("list_items"), list):
            if self._lists and not self._goes_on(item):
                self.end_list()
            self._lists.append(item)
            return
        if kind == "text" and not self._text(item, "text"):
            return  # an empty text says nothing, and does not part a list
        self.end_list()
        if kind == "table":
            self._read_table(item)
        elif kind == "code":
            self._read_code(item)
        elif kind in _PICTURES:
            self._read_picture(item, kind)
        elif kind in _EQUATIONS:
            self._read_equation(item)
        else:
            self._read_text(item)

    def _read_text(self, item: dict[str, Any]) -> None:
        """Text of any other type; a heading has a level, unless a caption was taken for one."""
        text = self._text(item, "text") or self._text(item, "content")
        level = ordinal_of(item.get("text_level"))
        title = " ".join(_plain(text).split())
        if level is None or _CAPTION.match(title):
            self._add("paragraph", text, item)
        elif title:
            self._add("heading", title, item, level=level)
        else:
            self._tally["empty headings skipped"] += 1

    def _read_table(self, item: dict[str, Any]) -> None:
        body = self._text(item, "table_body")
        caption = " ".join(
            filter(None, [*self._captions(item, "table_caption"), *self._notes(item, "table")])
        )
        tables = html_tables(body) if has_table(body) else []
        for table in tables:
            if table.text:
                own = " ".join(filter(None, [caption, table.caption]))
                self._add("table", table.text, item, caption=own or None)
                caption = ""
        if not any(table.text for table in tables):
            words = "" if has_table(body) else body
            self._add("table" if words else "paragraph", words or caption, item)

    def _read_code(self, item: dict[str, Any]) -> None:
        body = (text_of(item.get("code_body"), self._tally) or self._text(item, "text")).strip("\n")
        language = self._text(item, "guess_lang")
        fence = _FENCE.match(body)
        if fence:
            language = language or fence[2]
            body = _without_fence(body, fence[1])
        caption = " ".join(
            filter(None, [*self._captions(item, "code_caption"), *self._notes(item, "code")])
        )
        self._add("code", body, item, caption=caption or None, language=language or None)

    def _read_picture(self, item: dict[str, Any], kind: str) -> None:
        """Caption, description and footnotes, in the keys of any version."""
        captions = [
            caption
            for key in (f"{kind}_caption", "image_caption", "img_caption")
            for caption in self._captions(item, key)
        ]
        words = [self._text(item, "content"), self._text(item, "text"), *self._notes(item, kind)]
        caption = " ".join(dict.fromkeys(captions))
        text = "\n".join(filter(None, words))
        if text or caption:
            uri = link_of(item.get("img_path"))
            self._add("image", text, item, caption=caption or None, image_uri=uri)
        else:
            self._tally["pictures without text skipped"] += 1

    def _read_equation(self, item: dict[str, Any]) -> None:
        formula = display_formula(self._text(item, "text"))
        if formula:
            self._add("formula", formula, item)
        else:
            self._tally["equations without text skipped"] += 1

    def _goes_on(self, item: dict[str, Any]) -> bool:
        """Whether a list belongs to those that wait: same page and type, and no new number 1."""
        last = self._lists[-1]
        first_line = next(iter(self._items_of(item)), "")
        is_new = first_line.lstrip().startswith(("1.", "1)", "1、")) and any(
            _NUMBERED.match(line) for each in self._lists for line in self._items_of(each)
        )
        same = ("page_idx", "sub_type", "type")
        return not is_new and all(last.get(key) == item.get(key) for key in same)

    def end_list(self) -> None:
        """Make one block of the lists that wait; bullets between two numbers are nested."""
        lists, self._lists = self._lists, []
        if not lists:
            return
        lines = [line for each in lists for line in self._items_of(each)]
        numbers = [index for index, line in enumerate(lines) if _NUMBERED.match(line)]
        for index in range(numbers[0], numbers[-1]) if numbers else ():
            if _BULLET.match(lines[index]):
                lines[index] = "   " + lines[index]
        self._add("list", "\n".join(lines), lists[0])

    def _items_of(self, item: dict[str, Any]) -> list[str]:
        texts = [text_of(entry, self._tally) for entry in list_of(item.get("list_items"))]
        return [text.strip().replace("\n", "\n  ") for text in texts if text.strip()]

    def _captions(self, item: dict[str, Any], key: str) -> list[str]:
        """A caption may be a list, a string, empty, or a list of one empty string."""
        value = item.get(key)
        texts = [
            text_of(entry, self._tally) for entry in (value if isinstance(value, list) else [value])
        ]
        return [plain for text in texts if (plain := " ".join(_plain(text).split()))]

    def _notes(self, item: dict[str, Any], kind: str) -> list[str]:
        keys = dict.fromkeys((f"{kind}_footnote", "image_footnote", "img_footnote"))
        return [note for key in keys for note in self._captions(item, key)]

    def _text(self, item: dict[str, Any], key: str) -> str:
        return text_of(item.get(key), self._tally).strip()

    def _add(self, kind: BlockKind, text: str, item: dict[str, Any], **fields: Any) -> None:
        text = text or fields.pop("caption", None) or ""  # a caption alone is what there is to say
        if not text:
            self._tally["empty blocks skipped"] += 1
            return
        index = whole_of(item.get("page_idx"))
        self.blocks.append(
            Block(
                kind=kind,
                text=text,
                page=ordinal_of(index + 1) if index is not None else None,
                bbox=_box(item.get("bbox")),
                **fields,
            )
        )


def _without_fence(code: str, mark: str) -> str:
    """Code without its first line, and without its last one if that closes the fence."""
    lines = code.rstrip().split("\n")[1:]
    if lines and len(lines[-1].strip()) >= len(mark) and not lines[-1].strip().strip(mark[0]):
        lines.pop()
    return "\n".join(lines)


def _without_page_numbers(
    elements: list[dict[str, Any]], tally: Counter[str]
) -> Iterator[dict[str, Any]]:
    """Leave out the number that ends a page of a PDF, where MinerU took it for text."""
    nothing: dict[str, Any] = {}
    for item, following in zip_longest(elements, elements[1:], fillvalue=nothing):
        ends_page = following.get("page_idx") != item.get("page_idx")
        is_number = item.get("type") == "text" and _PAGE_NUMBER.fullmatch(str(item.get("text")))
        if ends_page and is_number and "bbox" in item and "text_level" not in item:
            tally["page_number skipped"] += 1
        else:
            yield item


def _plain(text: str) -> str:
    """Headings and captions without the stars of their emphasis."""
    return _EMPHASIS.sub(r"\2", text)


def _box(value: object) -> Box | None:
    edges = [number_of(edge) for edge in list_of(value)]
    if len(edges) != 4:
        return None
    left, top, right, bottom = edges
    if left is None or top is None or right is None or bottom is None:
        return None
    return top_left_box(left, top, right, bottom, page_size=None, from_bottom=False)

"""HTML inside other formats: its tables, pictures and words, in order, through a real parser."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from chunking.parsers.images import without_data_uris
from chunking.parsers.pipe_tables import pipe_table, place_cells
from chunking.text import clean_text, is_blank

_SILENT = frozenset({"script", "style", "template", "head", "title", "noscript"})
_INLINE = re.compile(
    "a|abbr|acronym|bdi|bdo|big|b|cite|code|data|del|dfn|em|font|ins|i|kbd|label|mark|nobr|q|rp|rt|"
    "ruby|samp|small|span|strike|strong|sub|sup|s|time|tt|u|var|wbr"
)
_BLANKS = re.compile(r"[ \t\n\r\f]+")
_NUMBER = re.compile(r"&#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?")
_NESTING_TAG = re.compile(
    r"<(/?)(?:address|article|aside|blockquote|center|details|dialog|dir|div|dl|fieldset|figcaption"
    r"|figure|footer|header|hgroup|listing|main|menu|nav|ol|optgroup|pre|rb|rp|rtc?|search|section"
    r"|summary|ul)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]*>")
_WITH_WORDS = re.compile(r"<(?:table|img)\b", re.IGNORECASE)
_MAX_DEPTH = 500
"""Browsers stop nesting at 512; the parser's time grows with the square of the depth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlTable:
    text: str
    """A pipe table; "" when no cell holds anything."""
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlImage:
    alt: str
    uri: str


def html_parts(html: str) -> list[str | HtmlTable | HtmlImage]:
    """Read a piece of HTML into its running text, tables and pictures that stand alone, in order.

    Text has a line per block element; comments, scripts and styles are no text. Tables inside a
    table's cell are words of that cell.
    """
    if _is_bare(html):
        return []
    html = without_data_uris(clean_text(html))
    if _depth(html) > _MAX_DEPTH:
        lines = map(str.strip, _TAG.sub("\n", html).split("\n"))
        text = "\n".join(line for line in lines if not is_blank(line))
        return [text] if text else []
    body = LexborHTMLParser(_NUMBER.sub(_checked_reference, html)).body
    if body is None:
        return []
    parts: list[str | HtmlTable | HtmlImage] = []
    run = _Run()
    for node, entering in _walk(body, opaque={"table"}):
        if node.tag != "table":
            run.add(node, entering=entering)
        elif entering:
            parts += run.parts()
            parts.append(_read_table(node))
            run = _Run()
    return parts + run.parts()


def html_tables(html: str) -> list[HtmlTable]:
    """Only the tables of a piece of HTML."""
    return [part for part in html_parts(html) if isinstance(part, HtmlTable)]


def has_table(text: str) -> bool:
    return "<table" in text or "<TABLE" in text


class _Run:
    """Text between two tables, with the pictures in it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._images: list[HtmlImage] = []
        self._has_words = False
        self._pre_depth = 0

    def add(self, node: LexborNode, *, entering: bool) -> None:
        tag = node.tag
        if tag == "-text":
            text = node.text_content or ""
            self._has_words = self._has_words or not is_blank(text)
            if not self._pre_depth:
                text = _BLANKS.sub(" ", text)
                begins_line = not self._pieces or self._pieces[-1].endswith("\n")
                text = text.lstrip(" ") if begins_line else text
            if text:
                self._pieces.append(text)
        elif tag == "img":
            if entering:
                alt = clean_text(node.attributes.get("alt") or "").strip()
                self._images.append(HtmlImage(alt=alt, uri=node.attributes.get("src") or ""))
                self._pieces.append(alt)
        elif not _INLINE.fullmatch(tag or ""):
            self._pieces.append("\n")
            if tag == "pre":
                self._pre_depth += 1 if entering else -1

    def parts(self) -> list[str | HtmlTable | HtmlImage]:
        """The text as one part, or the pictures when there is nothing else."""
        if not self._has_words:
            return [*self._images]
        lines = "".join(self._pieces).split("\n")
        return ["\n".join(line.rstrip() for line in lines if not is_blank(line)).strip()]


def _read_table(table: LexborNode) -> HtmlTable:
    rows: list[list[tuple[str, int, int, bool]]] = []
    captions: list[str] = []
    for section in table.iter():
        if section.tag == "caption":
            captions.append(_words(section))
            continue
        for row in section.iter():
            if row.tag != "tr":
                continue
            cells = [cell for cell in row.iter() if cell.tag in {"td", "th"}]
            is_header = section.tag == "thead" or all(cell.tag == "th" for cell in cells)
            rows.append(
                [
                    (_words(cell), _span(cell, "rowspan"), _span(cell, "colspan"), is_header)
                    for cell in cells
                ]
            )
    return HtmlTable(text=pipe_table(place_cells(rows)), caption=" ".join(captions).strip())


def _words(node: LexborNode) -> str:
    """All words below a node on one line; a blank where a block element or a line ends."""
    pieces: list[str] = []
    for inner, entering in _walk(node, opaque=set()):
        if inner.tag == "-text":
            pieces.append(inner.text_content or "")
        elif inner.tag == "img":
            pieces.append(inner.attributes.get("alt") or "" if entering else "")
        elif not _INLINE.fullmatch(inner.tag or ""):
            pieces.append(" ")
    return _BLANKS.sub(" ", "".join(pieces)).strip()


def _span(cell: LexborNode, name: str) -> int:
    """A span as HTML reads it: nothing, rubbish and negative numbers count as 1."""
    digits = re.match(r"\s*(\d{1,6})", cell.attributes.get(name) or "", re.ASCII)
    return int(digits[1]) if digits else 1


def _walk(root: LexborNode, opaque: set[str]) -> Iterator[tuple[LexborNode, bool]]:
    """Visit all below `root` depth first, elements on entering and on leaving, without recursion.

    What is silent is left out; children of an `opaque` element are not visited.
    """
    node = root.first_child
    depth = 0
    while node is not None:
        tag = node.tag
        is_element = tag is not None and tag[0] not in "-!_"
        if is_element or tag == "-text":
            yield node, True
        if is_element and tag not in opaque and tag not in _SILENT and node.first_child is not None:
            node, depth = node.first_child, depth + 1
            continue
        if is_element:
            yield node, False
        while node.next is None and depth:
            node, depth = node.parent, depth - 1
            assert node is not None
            yield node, False
        node = node.next


def _checked_reference(match: re.Match[str]) -> str:
    """Drop references that an HTML parser would turn into U+FFFD: to NUL, to half a pair."""
    digits = (match[1] or match[2]).lstrip("0")
    if not digits or len(digits) > 7:
        return ""
    number = int(digits, 16 if match[1] else 10)
    return match[0] if number < 0xD800 or 0xDFFF < number <= 0x10FFFF else ""


def _is_bare(html: str) -> bool:
    """Whether there is nothing but a comment or tags; most HTML in Markdown is of that kind."""
    html = html.strip()
    if html.startswith("<!--"):
        return html.find("-->") == len(html) - 3
    return not _TAG.sub("", html).strip() and not _WITH_WORDS.search(html)


def _depth(html: str) -> int:
    """Deepest nesting of those elements that a document can nest without end."""
    depth = deepest = 0
    for match in _NESTING_TAG.finditer(html):
        depth = max(depth - 1, 0) if match[1] else depth + 1
        deepest = max(deepest, depth)
    return deepest

"""Markdown, through the events of pulldown-cmark (pyromark): top-level elements become blocks."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyromark

from chunking.model import Block, BlockKind
from chunking.parsers.html import HtmlImage, HtmlTable, has_table, html_parts
from chunking.parsers.images import link_of, without_data_uris
from chunking.parsers.markdown_inline import Cut, Events, cuts, is_formula, lone_images, plain_text
from chunking.parsers.torn_tables import mend_html_tables
from chunking.text import clean_text, is_blank

_OPTIONS = pyromark.Options
_MARKDOWN = pyromark.Markdown(
    options=_OPTIONS.ENABLE_TABLES | _OPTIONS.ENABLE_MATH | _OPTIONS.ENABLE_FOOTNOTES
)
_KINDS: dict[str, BlockKind] = {"List": "list", "Table": "table"}
_ANCHOR = re.compile(r"\s*\{#[^\s{}]+\}\Z")
"""Docusaurus' and others' way to name a heading's anchor."""
_UNSEEN = re.compile("\ufeff|\r(?!\n)")
_DEFINITION = re.compile(
    r"^[ ]{0,3}(?P<label>\[(?:\\.|[^\[\]\\]){1,999}\]:)\s*(?P<target>\S+)", re.MULTILINE
)
_MARKERS_ALONE = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])(?:\s+|\Z))*+")
_CONTAINER_END = re.compile(":::+")
"""What closes `:::note`. Behind a table or code it would be a chunk without a word."""
_LINK_MARKS = frozenset("/.#:@?=<&")


def markdown_blocks(markdown: str, start: int, tally: Counter[str]) -> list[Block]:
    """Parse Markdown from the offset `start` on; the blocks' offsets count from its beginning.

    Inline Markdown stays as written, so that a block's text is the very piece of the source. A
    list, a quotation or a footnote is one block, with all that is nested in it.
    """
    return _Reader(markdown, start, tally).read()


class _Reader:
    """One walk over the events of one document.

    The parser sees a copy of the source of equal length, character by character, so that each
    range that it reports (in bytes) can be read from the source as it was given.
    """

    def __init__(self, source: str, start: int, tally: Counter[str]) -> None:
        tidy = _tidy(source)
        self._tidy = _as_it_is if tidy == source else _tidy  # asked once, not for every block
        structure = source[start:]
        if self._tidy is _tidy:
            structure = _UNSEEN.sub(_stand_in, structure)
        if has_table(structure):
            structure = mend_html_tables(structure)
        self._source = source
        self._structure = structure
        self._bytes = structure.encode()
        self._is_ascii = len(self._bytes) == len(structure)
        self._byte, self._char = 0, start  # one place, in both units; it moves forward only
        self._tally = tally
        self._blocks: list[Block] = []

    def read(self) -> list[Block]:
        events: Events = _MARKDOWN.events_with_range(self._structure)
        last_end = 0
        for event, span in events:
            start, end = span["start"], span["end"]
            if start - last_end > 1:
                self._words_of_definitions(last_end, start)
            last_end = end
            if "Start" in event:
                tag = event["Start"]
                name, details = (tag, None) if isinstance(tag, str) else next(iter(tag.items()))
                self._element(name, details, start, end, events)
        self._words_of_definitions(last_end, len(self._bytes))
        return self._blocks

    def _element(self, name: str, details: Any, start: int, end: int, events: Events) -> None:
        if name == "Heading":
            self._heading(int(details["level"][1]), start, end, _collect(events))
        elif name == "CodeBlock":
            self._code(details, _collect(events))
        elif name == "HtmlBlock":
            _skip(events)
            self._html(start, end)
        elif not _holds_more_than_text(self._bytes[start:end]):
            _skip(events)
            self._verbatim(_KINDS.get(name, "paragraph"), start, end)
        else:
            self._mixed(name, start, end, _collect(events))

    def _mixed(self, name: str, start: int, end: int, inner: list[Any]) -> None:
        """Read an element with pictures, formulas or HTML in it."""
        images = lone_images(inner) if name == "Paragraph" else []
        for alt, uri, title in images:
            self._image(alt, uri, title)
        if not images:
            kind = _KINDS.get(name, "paragraph")
            if name == "Paragraph" and is_formula(inner):
                kind = "formula"
            self._verbatim(kind, start, end, cuts(inner, self._bytes))

    def _heading(self, level: int, start: int, end: int, inner: list[Any]) -> None:
        words = plain_text(inner)
        text = self._tidy(_ANCHOR.sub("", words) if "{#" in words else words).strip()
        if is_blank(text):
            self._tally["empty headings skipped"] += 1
            return
        found = self._source.find(text, self._offset(start), self._offset(end))
        place = found if found >= 0 else None
        self._blocks.append(Block(kind="heading", text=text, level=level, char_start=place))

    def _code(self, details: Any, inner: list[Any]) -> None:
        texts = [(event["Text"], span["start"]) for event, span in inner if "Text" in event]
        code = self._tidy("".join([text for text, _ in texts])).removesuffix("\n")
        if is_blank(code):
            self._tally["empty blocks skipped"] += 1
            return
        info = details.get("Fenced", "").split() if isinstance(details, dict) else []
        self._blocks.append(
            Block(
                kind="code",
                text=code,
                language=self._tidy(info[0]) if info else None,
                char_start=self._if_there(code, self._offset(texts[0][1])),
            )
        )

    def _html(self, start: int, end: int) -> None:
        offset = self._offset(start)
        html = self._source[offset : self._offset(end)]
        for part in html_parts(html):
            if isinstance(part, HtmlTable):
                self._html_table(part)
            elif isinstance(part, HtmlImage):
                self._image(part.alt, part.uri, "")
            else:
                text = without_data_uris(part)
                found = html.find(text)
                place = offset + found if found >= 0 else None
                self._blocks.append(Block(kind="paragraph", text=text, char_start=place))

    def _html_table(self, table: HtmlTable) -> None:
        if table.text:
            self._blocks.append(Block(kind="table", text=table.text, caption=table.caption or None))
        elif table.caption:
            self._blocks.append(Block(kind="paragraph", text=table.caption))
        else:
            self._tally["empty blocks skipped"] += 1

    def _image(self, alt: str, uri: str, title: str) -> None:
        alt, title = self._tidy(alt).strip(), self._tidy(title).strip()
        words = [each for each in dict.fromkeys((alt, title)) if not is_blank(each)]
        if not words:
            self._tally["pictures without text skipped"] += 1
            return
        caption = words[1] if len(words) > 1 else None
        self._blocks.append(
            Block(kind="image", text=words[0], caption=caption, image_uri=link_of(self._tidy(uri)))
        )

    def _verbatim(self, kind: BlockKind, start: int, end: int, gone: Sequence[Cut] = ()) -> None:
        """Give a piece of the source as it stands, but for cuts and a common indentation."""
        offset = begin = self._offset(start)
        pieces: list[str] = []
        for cut in gone:
            pieces += [self._source[begin : self._offset(cut.start)], cut.text]
            begin = self._offset(cut.end)
        pieces.append(self._source[begin : self._offset(end)])
        text = self._tidy("".join(pieces)).rstrip()
        if kind != "paragraph":
            indentation = len(text) - len(text.lstrip(" "))
            offset += indentation
            text = text[indentation:]
            column = start - (self._bytes.rfind(b"\n", 0, start) + 1) + indentation
            if 0 < column < 4:
                text = re.sub(rf"\n {{1,{column}}}", "\n", text)
        if is_blank(text) or (kind == "list" and _MARKERS_ALONE.fullmatch(text)):
            self._tally["empty blocks skipped"] += not gone
            return
        if _CONTAINER_END.fullmatch(text):
            self._tally["ends of containers skipped"] += 1
            return
        self._blocks.append(Block(kind=kind, text=text, char_start=self._if_there(text, offset)))

    def _words_of_definitions(self, start: int, end: int) -> None:
        """Keep "[note]: words", which Markdown takes for the definition of a link, and swallows."""
        if b"]:" not in self._bytes[start:end]:
            return
        offset = self._offset(start)
        gap = self._bytes[start:end].decode()
        definitions = list(_DEFINITION.finditer(gap))
        starts = [*(definition.start("label") for definition in definitions), len(gap)]
        for definition, (begin, close) in zip(definitions, pairwise(starts), strict=True):
            if _LINK_MARKS.isdisjoint(definition["target"]):
                text = self._tidy(self._source[offset + begin : offset + close]).rstrip()
                place = self._if_there(text, offset + begin)
                self._blocks.append(Block(kind="paragraph", text=text, char_start=place))

    def _offset(self, byte: int) -> int:
        """Translate a byte of the structure, not before the last one asked for, to a character."""
        passed = byte - self._byte
        if passed:
            if not self._is_ascii:
                passed = len(self._bytes[self._byte : byte].decode())
            self._byte = byte
            self._char += passed
        return self._char

    def _if_there(self, text: str, offset: int) -> int | None:
        """Give the offset if the source has the text there, letter for letter."""
        return offset if self._source.startswith(text, offset) else None


def _tidy(text: str) -> str:
    return without_data_uris(clean_text(text))


def _as_it_is(text: str) -> str:
    return text


def _holds_more_than_text(element: bytes) -> bool:
    return b"<" in element or b"![" in element or b"$$" in element


def _stand_in(match: re.Match[str]) -> str:
    """Show the parser a line end for a lone CR, and for a byte order mark what does no harm.

    At the head of a line that is a blank, elsewhere a control character, which is cleaned away.
    """
    if match[0] == "\r":
        return "\n"
    before = match.string[match.start() - 1 : match.start()]
    return " " if before in {"", "\n", "\r"} else "\0"


def _collect(events: Events) -> list[Any]:
    """Take all events up to the end of the element that was just entered."""
    inner: list[Any] = []
    depth = 1
    for item in events:
        event = item[0]
        if "End" in event:
            depth -= 1
            if not depth:
                break
        elif "Start" in event:
            depth += 1
        inner.append(item)
    return inner


def _skip(events: Events) -> None:
    depth = 1
    for event, _ in events:
        if "End" in event:
            depth -= 1
            if not depth:
                return
        elif "Start" in event:
            depth += 1

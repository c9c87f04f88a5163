"""Stage 1: blocks are gathered while heading, place and splitting rule stay the same."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from chunking.atoms import close_fences, escape_fence
from chunking.model import Block, Document
from chunking.parsers.html import HtmlTable, html_parts
from chunking.tables import is_pipe_table
from chunking.text import clean_text, is_blank, one_line

Rule = Literal["prose", "table", "code", "alone"]
"""How a section is split. Tables, code and pictures are sections of their own; all other kinds,
unknown ones too, are prose. `alone` is cut like prose, without overlap."""

_Heading = tuple[int, str, int]
"""Level, name, and index of the block."""
_HTML_TABLE = re.compile(r"\s*<(?:(table)|tr|thead|tbody)\b[^<>]*>", re.IGNORECASE)
_UNKNOWN = -1
"""Index of a heading that is only known from another's path."""


@dataclass(frozen=True, slots=True)
class Part:
    """One block as it stands in the body of its section."""

    block: Block
    rule: Rule
    text: str
    offset: int
    """Where `text` begins in the block's own text; negative with words in front of it."""


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under one heading, at one place, that are split by one rule."""

    heading_path: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def rule(self) -> Rule:
        return self.parts[0].rule

    @property
    def place(self) -> tuple[object, ...]:
        return _place(self.parts[0].block)


def gather_sections(blocks: Sequence[Block], *, mixed: bool = False) -> Iterator[Section]:
    """Gather the blocks of one document. Blank ones are left out, headings end a section.

    Never joined: what differs in page, sheet, slide, cell range or heading path. A table, a code
    block or a picture is a section of its own, unless sections may be `mixed`.
    """
    parts: list[Part] = []
    here: tuple[tuple[str, ...], tuple[object, ...]] = ((), ())
    for block, path, _ in _with_paths(_without_html(blocks)):
        part = None if path is None else _part(block)
        if path is not None and part is None:
            continue
        there = (path or (), _place(block))
        alone = part is not None and part.rule != "prose" and not mixed
        if parts and (part is None or alone or there != here):
            yield Section(here[0], tuple(parts))
            parts = []
        if part and alone:
            yield Section(there[0], (part,))
        elif part:
            parts.append(part)
            here = there
    if parts:
        yield Section(here[0], tuple(parts))


def headings_without_text(document: Document) -> list[str]:
    """Headings with nothing below them, in order: they are in no chunk and in no heading path.

    A heading whose subheadings have text is in their paths, so it is not among them. A document of
    headings only gives no chunk, and all its headings here. The blocks must be there.
    """
    empty: dict[int, str] = {}
    for index, (block, path, above) in enumerate(_with_paths(document.blocks or ())):
        if path is None:
            if name := one_line(block.text):
                empty[index] = name
        elif not is_blank(block.text):
            for _, name, at in above:
                if name in path:
                    empty.pop(at, None)
    return list(empty.values())


def _with_paths(
    blocks: Iterable[Block],
) -> Iterator[tuple[Block, tuple[str, ...] | None, list[_Heading]]]:
    """Each block with its heading path (None for a heading), and the headings open above it."""
    above: list[_Heading] = []
    path: tuple[str, ...] = ()
    for index, block in enumerate(blocks):
        if block.kind == "heading":
            if name := one_line(block.text):
                above = _enter(above, block, name, index)
                path = tuple([open_name for _, open_name, _ in above])
            yield block, None, above
        elif block.heading_path is None:
            yield block, path, above
        else:
            yield block, _names(block.heading_path), above


def _enter(above: list[_Heading], block: Block, name: str, index: int) -> list[_Heading]:
    """The headings that are open below this one. One of the same or a deeper level is closed."""
    if block.heading_path is None:
        level = max(block.level or 1, 1)
        return [*(heading for heading in above if heading[0] < level), (level, name, index)]
    own = _names(block.heading_path)
    if own and own[-1] == name:
        own = own[:-1]
    same = [heading[1] == outer for heading, outer in zip(above, own, strict=False)]
    known = [at for _, _, at in above][: (*same, False).index(False)]
    places = known + [_UNKNOWN] * (len(own) - len(known))
    return [*zip(range(1, len(own) + 1), own, places, strict=True), (len(own) + 1, name, index)]


def _without_html(blocks: Iterable[Block]) -> Iterator[Block]:
    """Tables that were given as HTML become pipe tables, what stands beside them paragraphs."""
    for block in blocks:
        html = _HTML_TABLE.match(block.text) if block.kind == "table" else None
        if html:
            yield from _from_html(block, block.text if html[1] else f"<table>{block.text}</table>")
        else:
            yield block


def _from_html(block: Block, html: str) -> Iterator[Block]:
    plain = replace(block, char_start=None)
    for part in html_parts(html):
        if isinstance(part, HtmlTable):
            yield replace(plain, text=part.text, caption=plain.caption or part.caption)
            plain = replace(plain, caption=None)  # a caption belongs to the first table
        else:
            text = part if isinstance(part, str) else part.alt
            yield replace(plain, kind="paragraph", text=text, caption=None)


def _names(path: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for title in path if (name := one_line(title)))


def _place(block: Block) -> tuple[object, ...]:
    return block.page, block.sheet, block.slide, block.cell_range


def _part(block: Block) -> Part | None:
    """The block as it will stand in a body; None when there is nothing to see.

    Tables and code keep their caption apart, since it may have to give way.
    """
    text = clean_text(block.text)
    if is_blank(text) and not caption_of(block):
        return None
    if block.kind == "code":
        return Part(block, "code", text.removesuffix("\n"), 0)
    body = text.lstrip("\n").rstrip()
    offset = text.find(body)
    if block.kind == "table" and is_pipe_table(body):
        return Part(block, "table", body, offset)
    caption = caption_before(block, body)
    before = caption + "\n" if caption else ""
    if block.kind == "turn" and body:
        before += name_before(block)
    rule: Rule = "alone" if block.kind in ("table", "image") else "prose"
    return Part(block, rule, close_fences((before + body).rstrip()), offset - len(before))


def caption_of(block: Block) -> str:
    """The caption on one line; "" where there is nothing to see."""
    return escape_fence(one_line(block.caption)) if block.caption else ""


def caption_before(block: Block, text: str) -> str:
    """The caption, unless the text begins with it: nothing is said twice."""
    caption = one_line(block.caption or "")
    return "" if text.lstrip().startswith(caption) else escape_fence(caption)


def name_before(block: Block) -> str:
    """What stands before the words of a turn: who says them, if anybody is named."""
    speaker = one_line(block.speaker or "")
    return f"{escape_fence(speaker)}: " if speaker else ""

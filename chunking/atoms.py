"""A prose block as Markdown lines: which of them hang together, and where its items begin."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

AtomKind = Literal["text", "fence", "table"]

_MARKER = r"(?:[-*+]|\d{1,9}[.)])"
_ITEM = re.compile(rf"(?P<indent>[ \t>]*)(?P<marker>{_MARKER}(?:[ \t]+|$))")
_BREAK = re.compile(r"[ \t>]*([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_FENCE = re.compile(
    rf"(?P<lead>[ \t>]*(?:{_MARKER}[ \t]+[ \t>]*)*)(?P<mark>`{{3,}}(?=[^`]*$)|~{{3,}})(?P<info>.*)$"
)
_SEPARATOR = re.compile(r"[ \t>]*(?=[^\n]*-)(?=[^\n]*\|)\|?(?:[ \t]*+:?-++:?[ \t]*+\|?)++[ \t]*$")


@dataclass(frozen=True, slots=True)
class Atom:
    """Lines that are cut apart only when they exceed the budget by themselves."""

    kind: AtomKind
    start: int
    end: int
    """With the blank lines behind it."""
    indent: int
    is_item: bool
    """Whether it begins a list item."""
    closing: str = ""
    """Of a fence that its source left open: the line that closes it."""


@dataclass(slots=True)
class _Fence:
    lead: str
    mark: str
    offset: int
    """Indentation under which the list item that holds the fence has ended."""

    def closes(self, line: str) -> bool:
        tail = line.strip(" \t>")
        return len(tail) >= len(self.mark) and tail == self.mark[0] * len(tail)

    def is_left(self, line: str) -> bool:
        """Whether the line stands outside of the item or quotation that the fence is in."""
        if not line.strip():
            return False
        if ">" in self.lead:
            return not line.lstrip(" \t").startswith(">")
        return _width(line) < self.offset

    @property
    def closing(self) -> str:
        return blank_markers(self.lead) + self.mark


def is_separator(line: str) -> bool:
    """Whether the line is the one between a table's header and its rows: `|---|:-:|`."""
    return "-" in line and "|" in line and _SEPARATOR.match(line) is not None


def blank_markers(lead: str) -> str:
    """What stands before a line that goes on where `lead` began: `1. ` gives three blanks."""
    return re.sub(r"[^\s>]", " ", lead)


def close_fences(text: str) -> str:
    """Write the closing line of each fence that is open to the end of its item or of the text."""
    if not _may_have_fence(text):
        return text
    pieces: list[str] = []
    for atom in atoms(text):
        piece = text[atom.start : atom.end]
        if atom.closing:
            piece = piece.rstrip("\n") + "\n" + atom.closing + "\n"
        pieces.append(piece)
    closed = "".join(pieces)
    return closed if text.endswith("\n") else closed.removesuffix("\n")


def has_fence(text: str) -> bool:
    """Whether a line of `text` opens a code fence."""
    return _may_have_fence(text) and any(map(_FENCE.match, text.split("\n")))


def _may_have_fence(text: str) -> bool:
    return "```" in text or "~~~" in text


def escape_fence(text: str) -> str:
    """A text that begins with a fence's mark by accident of cutting, as the words that it is."""
    match = _FENCE.match(text.partition("\n")[0]) if _may_have_fence(text) else None
    at = match.start("mark") if match else 0
    return f"{text[:at]}\\{text[at:]}" if match else text


@dataclass(frozen=True, slots=True)
class FencedCode:
    """A fence by what it is made of."""

    lead: str
    """Before the mark: indentation, marks of quotations, a list item's marker."""
    mark: str
    info: str
    code: str


def read_fence(text: str) -> FencedCode:
    """Read the text of a fence atom."""
    opening, *code, _ = text.rstrip().split("\n")
    match = _FENCE.match(opening)
    assert match
    return FencedCode(match["lead"], match["mark"], match["info"], "\n".join(code))


def atoms(text: str) -> Iterator[Atom]:
    """Cut `text` into atoms that follow one another without a gap."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    starts = _line_starts(lines)
    offsets: list[int] = []  # where the contents of the open list items begin
    index = 0
    while index < len(lines):
        first = index
        line = lines[index]
        item = None if _BREAK.match(line) else _ITEM.match(line)
        if item:
            _open_item(offsets, item)
        closing = ""
        if fence := _FENCE.match(line):
            kind: AtomKind = "fence"
            index, closing = _fence_end(lines, index, fence, offsets)
        elif index + 1 < len(lines) and "|" in line and is_separator(lines[index + 1]):
            kind, index = "table", _table_end(lines, index)
        else:
            kind, index = "text", _text_end(lines, index)
        while index < len(lines) and not lines[index].strip():
            index += 1
        end = starts[index] if index < len(lines) else len(text)
        yield Atom(kind, starts[first], end, _width(line), item is not None, closing)


def _line_starts(lines: list[str]) -> list[int]:
    starts, position = [], 0
    for line in lines:
        starts.append(position)
        position += len(line) + 1
    return starts


def _open_item(offsets: list[int], item: re.Match[str]) -> None:
    indent = _width(item["indent"] + "x")
    while offsets and offsets[-1] > indent:
        offsets.pop()
    offsets.append(indent + len(item["marker"].expandtabs(4)))


def _fence_end(
    lines: list[str], index: int, opening: re.Match[str], offsets: list[int]
) -> tuple[int, str]:
    width = _width(blank_markers(opening["lead"]) + "x")
    offset = max((offset for offset in offsets if offset <= width), default=0)
    fence = _Fence(opening["lead"], opening["mark"], offset)
    for at in range(index + 1, len(lines)):
        if fence.closes(lines[at]):
            return at + 1, ""
        if fence.is_left(lines[at]):
            return at, fence.closing
    return len(lines), fence.closing


def _table_end(lines: list[str], index: int) -> int:
    end = index + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    return end


def _text_end(lines: list[str], index: int) -> int:
    """The line behind a paragraph: a blank one, an item, a fence or a table begins there."""
    end = index + 1
    while end < len(lines):
        line = lines[end]
        begins = _FENCE.match(line) or (_ITEM.match(line) and not _BREAK.match(line))
        is_table = "|" in line and end + 1 < len(lines) and is_separator(lines[end + 1])
        if not line.strip() or begins or is_table:
            break
        end += 1
    return end


def _width(line: str) -> int:
    """Columns before the first sign of the line; marks of quotations count as blanks."""
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip(" >"))

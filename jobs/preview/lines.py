"""`kitelift chunk`: what the chunker makes of one file, for a terminal or a program."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from rich.console import Group, RenderableType
from rich.text import Text

from chunking import Chunk
from chunking.parsers import parse_file
from chunking.protocols import chunk_fully
from jobs.chunk_size import ChunkSize, chunk_size
from jobs.chunkers import open_chat_model, open_chunker
from jobs.config import ChunkingSettings, Config
from jobs.preview.marks import Marked, mark_chunks, place_of
from jobs.preview.page import Preview, notes_of, summary
from jobs.sentences import VectorChunker
from storage.embeddings import open_embedder
from storage.protocols import CompletionTally
from storage.records import Tally

BAR = 20
"""Characters of a bar that is full."""
COLOURS = {"table": "magenta", "code": "green", "image": "yellow", "list": "cyan", "turn": "blue"}


def preview(file: Path, config: Config, changes: Mapping[str, Any]) -> Preview:
    """Chunk one file as a run would.

    Args:
        file: Of any format that `kitelift convert` reads.
        config: Of which `[chunking]`, the models, and where answers of a chat model are kept.
        changes: Options that the command line sets instead. Another strategy has options of its
            own, so none of the configuration then.

    Raises:
        ValueError: An option of the strategy is not usable.
        ParseError: The file cannot be read.
        StorageError: The strategy asks a model, and that does not answer.
    """
    settings = config.chunking
    is_other = changes.get("strategy", settings.strategy) != settings.strategy
    kept = {} if is_other else settings.model_dump()
    chosen = ChunkingSettings(**{**kept, **changes})
    chosen.open()  # what is wrong with its options is told first
    chat_model = open_chat_model(config.model_copy(update={"chunking": chosen}))
    chunker = open_chunker(chosen, lambda: open_embedder(config.embedding), chat_model)
    document = parse_file(file)
    made = chunk_fully(chunker, document)
    return Preview(
        document=document,
        chunks=made.chunks,
        size=chunk_size(chunker.settings),
        notes=[
            *notes_of(document),
            *made.warnings,
            *([_asked(chat_model.tally)] if chat_model else []),
            *(
                [_embedded(chunker.vectors.take_work())]
                if isinstance(chunker, VectorChunker)
                else []
            ),
        ],
    )


def _asked(tally: CompletionTally) -> str:
    return (
        f"chat model: {tally.requests} requests, {tally.tokens} tokens, "
        f"{tally.reused} answers reused"
    )


def _embedded(work: Tally) -> str:
    return f"{work.sentences} sentences embedded to cut by, {work.sentence_tokens} tokens"


def as_json(made: Preview) -> str:
    """The chunks as a JSON list with the fields of a row, vectors and provenance apart."""
    rows = [asdict(chunk) for chunk in made.chunks]
    return orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode()


def as_text(made: Preview) -> RenderableType:
    """Each chunk with its size, kind and place, then its text; what is repeated is dim."""
    head = Text(made.document.file_title or made.document.document_id, style="bold")
    head.append(f"  {summary(made)}", style="not bold")
    parts: list[RenderableType] = [head]
    for marked in mark_chunks(made.chunks):
        parts += [Text(), _line(marked.chunk, made.size), _text(marked)]
    if made.notes:
        parts += [Text(), *(Text(f"note: {note}", style="yellow") for note in made.notes)]
    return Group(*parts)


def _line(chunk: Chunk, size: ChunkSize) -> Text:
    filled = min(BAR, max(1, round(BAR * size.fill(chunk))))
    colour = COLOURS.get(chunk.kind, "white")
    line = Text(f"#{chunk.chunk_index:<4}", style="bold")
    line.append("█" * filled, style=colour).append("░" * (BAR - filled), style="dim")
    line.append(f" {size.of(chunk):>4}/{size.most} ").append(f"{chunk.kind} ", style=colour)
    line.append(" › ".join(chunk.heading_path) or chunk.title, style="bold")
    if chunk.title != chunk.parent_title:
        line.append(f" · part {chunk.part}")
    place = place_of(chunk)
    return line.append(f" · {place}", style="dim") if place else line


def _text(marked: Marked) -> Text:
    return Text(marked.again, style="dim").append(marked.new, style="not dim")

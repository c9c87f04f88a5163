"""From bodies to chunks: the last step of every strategy."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from chunking.budget import TokenCounter
from chunking.ids import chunk_id, content_hash, payload_hash
from chunking.model import BLOCK_KINDS, Block, Box, Chunk, Document
from chunking.text import clean_text, one_line

_NOWHERE: Mapping[str, Any] = {
    "page": 0,
    "sheet": "",
    "slide": 0,
    "cell_range": "",
    "bbox": {},
    "speaker": "",
    "ts_start": -1.0,
    "ts_end": -1.0,
}
"""Of a block without a place, as Markdown gives them all."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(slots=True, kw_only=True)  # not frozen: that would cost a tenth of a chunk's time
class Piece:
    """What a strategy decides about one chunk; the rest follows from it."""

    body: str
    prefix: str = ""
    """Stands before the body, line break included."""
    heading_path: tuple[str, ...]
    part: int = 1
    is_cut: bool = False
    """Whether its section has more than this one part."""
    blocks: Sequence[Block]
    """What the body is made of, in order; not empty."""
    char_start: int | None = None
    """Where the body would begin in the document's source. Claimed only if it stands there."""
    kind: str = ""
    """Instead of the kind of its blocks."""
    parent_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Of this chunk, over the document's own."""


def assemble(
    document: Document,
    pieces: Iterable[Piece],
    *,
    strategy: str,
    counter: TokenCounter,
    max_tokens: int,
    first_index: int = 0,
) -> list[Chunk]:
    """Number the pieces from `first_index` on, count, name and hash them.

    `payload_hash` covers every field of the row but itself, `content`, vectors and provenance:
    `content_hash` stands for `content`. It is taken over the hash of what all chunks of the
    document share and the fields that are the chunk's own.

    Raises:
        ValueError: The document's id is empty or cannot be stored; ids are never altered.
        RuntimeError: A piece is over the budget; every strategy must make this unreachable.
    """
    document_id = _storable(document.document_id)
    shared: dict[str, Any] = {
        "document_id": document_id,
        "source": clean_text(document.source),
        "file_title": clean_text(document.file_title),
        "item_name": clean_text(document.item_name),
        "strategy": strategy,
    }
    metadata = _clean(document.metadata)
    shared_hash = payload_hash({**shared, "metadata": metadata})
    source = document.markdown if document.markdown is not None else document.text or ""
    chunks: list[Chunk] = []
    for index, piece in enumerate(pieces, start=first_index):
        content = piece.prefix + piece.body
        tokens = counter.count(content)
        if tokens > max_tokens:
            raise RuntimeError(
                f"Chunker produced content above configured token budget: {tokens} > {max_tokens} "
                f"in chunk {index} of {document_id!r}."
            )
        heading = piece.heading_path[-1] if piece.heading_path else shared["file_title"]
        start = _start(piece, source)
        own: dict[str, Any] = {
            **_origin(piece.blocks, piece.kind),
            "title": f"{heading}-{piece.part}" if piece.is_cut else heading,
            "parent_title": heading,
            "part": piece.part,
            "heading_path": piece.heading_path,
            "chunk_index": index,
            "char_start": start,
            "char_end": start + len(piece.body) if start >= 0 else -1,
            "token_count": tokens,
            "content_hash": content_hash(content),
            "parent_id": piece.parent_id,
        }
        extra = _clean(piece.metadata) if piece.metadata else {}
        chunks.append(
            Chunk(
                **shared,
                **own,
                chunk_id=chunk_id(document_id, index, content),
                content=content,
                metadata={**metadata, **extra} if extra else metadata,
                payload_hash=payload_hash([shared_hash, own, extra]),
            )
        )
    return chunks


def _storable(document_id: str) -> str:
    if not document_id or _UNSTORABLE.search(document_id):
        raise ValueError(
            f"document_id={document_id!r} is empty or cannot be stored (NUL, half of a surrogate "
            f"pair); ids are never altered, so give the document another one."
        )
    return document_id


def _origin(blocks: Sequence[Block], kind: str) -> dict[str, Any]:
    """Where the blocks come from, with stand-ins for what is not known."""
    first = blocks[0]
    if not kind:
        kind = first.kind if first.kind in BLOCK_KINDS else "paragraph"
        if len(blocks) > 1 and any(block.kind != first.kind for block in blocks):
            kind = "paragraph"
    if not any(map(_has_place, blocks)):
        return {"kind": kind, **_NOWHERE}
    return {
        "kind": kind,
        "page": first.page or 0,
        "sheet": clean_text(first.sheet) if first.sheet else "",
        "slide": first.slide or 0,
        "cell_range": clean_text(first.cell_range) if first.cell_range else "",
        "bbox": _union([block.bbox for block in blocks if block.bbox]),
        "speaker": _speakers([block.speaker for block in blocks if block.speaker]),
        "ts_start": min([at for block in blocks if _is_finite(at := block.ts_start)], default=-1.0),
        "ts_end": max([at for block in blocks if _is_finite(at := block.ts_end)], default=-1.0),
    }


def _has_place(block: Block) -> bool:
    return not (
        block.page is None
        and block.bbox is None
        and block.speaker is None
        and block.ts_start is None
        and block.ts_end is None
        and block.sheet is None
        and block.slide is None
        and block.cell_range is None
    )


def _speakers(names: Sequence[str]) -> str:
    """All of them, in the order of their first words."""
    return ", ".join(dict.fromkeys(filter(None, map(one_line, names))))


def _union(boxes: Sequence[Box]) -> dict[str, float]:
    """The smallest box around all of them; what is no box does not count."""
    known = [box for box in boxes if len(box) == 4 and all(map(_is_finite, box))]
    if not known:
        return {}
    x0, y0, x1, y1 = zip(*known, strict=True)
    return {"x0": min(x0), "y0": min(y0), "x1": max(x1), "y1": max(y1)}


def _is_finite(number: float | None) -> TypeGuard[float]:
    return number is not None and math.isfinite(number)


def _start(piece: Piece, source: str) -> int:
    start = -1 if piece.char_start is None else piece.char_start
    return start if start >= 0 and source.startswith(piece.body, start) else -1


def _clean(value: Any) -> Any:
    """Metadata as it can be stored: every string in it cleaned, keys too."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

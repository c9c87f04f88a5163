"""The nouns of the whole project: a document, its blocks, and the chunks made of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

BlockKind = Literal["heading", "paragraph", "list", "table", "code", "image", "formula", "turn"]
BLOCK_KINDS: frozenset[str] = frozenset(get_args(BlockKind))

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 with the origin at the top left of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One structural unit of a document, in reading order."""

    kind: BlockKind
    text: str
    """Paragraphs, lists and tables as Markdown; code without its fence; headings without marks."""
    level: int | None = None
    """Heading depth, 1 for the outermost; None for every other kind."""
    heading_path: tuple[str, ...] | None = None
    """Titles from the outermost inwards; None derives them from the headings before it."""
    page: int | None = None
    """1-based; None where the format has no pages."""
    sheet: str | None = None
    slide: int | None = None
    cell_range: str | None = None
    bbox: Box | None = None
    caption: str | None = None
    language: str | None = None
    """Of code: the info string of its fence."""
    image_uri: str | None = None
    speaker: str | None = None
    ts_start: float | None = None
    """Seconds from the start of the recording, like ts_end."""
    ts_end: float | None = None
    char_start: int | None = None
    """Where `text` begins in the document's Markdown or text; None where it is not verbatim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One parsed source document. It holds `blocks`, or the Markdown or text to make them of."""

    document_id: str
    """Stable and never altered: chunk ids are made of it."""
    file_title: str = ""
    source: str = ""
    """Path or URL of the original."""
    item_name: str = ""
    """The subject that the document is about, when known."""
    blocks: tuple[Block, ...] | None = None
    markdown: str | None = None
    """The source of the blocks' offsets, as given; blocks are parsed from it when None."""
    text: str | None = None
    """As `markdown`, for plain text."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """JSON values under string keys; kept with each chunk."""
    warnings: tuple[str, ...] = ()
    """What the parser left out or mended, with counts: "furniture skipped: 3"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage to embed and store, with all that a reader needs to find its place again.

    Stand-ins mark what a source does not have, since servers before Milvus 2.5 refuse nulls:
    0 for `page` and `slide`, "" for strings, {} for `bbox`, -1 for times and offsets.
    """

    chunk_id: str
    document_id: str
    content: str
    """What is embedded: heading prefix, line break, body."""
    title: str
    """Own heading of the section (`file_title` where there is none), "-{part}" when it was cut."""
    parent_title: str
    """That heading without the part: the same for all parts of one section."""
    part: int
    """1..n within the section; 1 when it was not cut."""
    heading_path: tuple[str, ...]
    chunk_index: int
    """Place in the document, from 0."""
    kind: str
    strategy: str
    token_count: int
    """Counted on the final `content`."""
    content_hash: str
    payload_hash: str
    """Hash of every other field of the row but vectors and provenance."""
    source: str = ""
    file_title: str = ""
    item_name: str = ""
    char_start: int = -1
    """Where the body stands in the document's Markdown or text, in characters."""
    char_end: int = -1
    page: int = 0
    sheet: str = ""
    slide: int = 0
    cell_range: str = ""
    bbox: Mapping[str, float] = field(default_factory=dict)
    """{"x0", "y0", "x1", "y1"}, or empty."""
    speaker: str = ""
    ts_start: float = -1.0
    ts_end: float = -1.0
    parent_id: str = ""
    """The parent's chunk id (parent-child strategy), else empty."""
    metadata: Mapping[str, Any] = field(default_factory=dict)

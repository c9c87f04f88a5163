"""The paragraph that introduces a table, a code block or a picture stands with it, on request."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from chunking.budget import TokenCounter
from chunking.model import Block
from chunking.sections import caption_of
from chunking.text import is_blank

_INTRODUCED = ("table", "code", "image")


def with_lead_in(blocks: Iterable[Block], limit: int, counter: TokenCounter) -> Iterator[Block]:
    """Make the paragraph right before a table, code block or picture its caption.

    Only where it has at most `limit` tokens, stands in the same place, and what follows has words
    but no caption of its own. Nothing is said twice: the paragraph is no prose any more.
    """
    before: Block | None = None
    for block in blocks:
        if before and _is_introduced(block, before) and counter.count(before.text) <= limit:
            yield replace(block, caption=before.text)
            before = None
            continue
        if before:
            yield before
        before = block if block.kind == "paragraph" else None
        if not before:
            yield block
    if before:
        yield before


def _is_introduced(block: Block, before: Block) -> bool:
    return (
        block.kind in _INTRODUCED
        and not is_blank(block.text)
        and not block.text.lstrip().startswith("<")  # HTML brings its own caption
        and not caption_of(block)
        and not caption_of(before)
        and _place(block) == _place(before)
    )


def _place(block: Block) -> tuple[object, ...]:
    return block.page, block.sheet, block.slide, block.cell_range, block.heading_path

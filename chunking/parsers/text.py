"""Plain text: paragraphs by blank lines; no heading is guessed."""

import re
from collections import Counter

from chunking.model import Block
from chunking.parsers.images import without_data_uris
from chunking.text import clean_text, is_blank

# A line is blank with nothing or white space in it; only LF, CRLF and CR end one.
_BETWEEN = re.compile(r"(?:\r\n?|\n)(?:[^\S\r\n]*(?:\r\n?|\n))+")


def text_blocks(text: str, tally: Counter[str]) -> list[Block]:
    """One paragraph for each run of lines that are not blank."""
    blocks: list[Block] = []
    start = 0
    for end, following in [*(m.span() for m in _BETWEEN.finditer(text)), (len(text), 0)]:
        piece = text[start:end]
        stripped = without_data_uris(clean_text(piece)).strip("\n")
        if not is_blank(stripped):
            offset = piece.find(stripped)
            blocks.append(
                Block(
                    kind="paragraph",
                    text=stripped,
                    char_start=start + offset if offset >= 0 else None,
                )
            )
        elif end > start:
            tally["empty blocks skipped"] += 1
        start = following
    return blocks

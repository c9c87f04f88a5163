"""From a document's Markdown or text to its blocks."""

from collections import Counter
from dataclasses import replace

from chunking.model import Document
from chunking.parsers.front_matter import split_front_matter
from chunking.parsers.markdown import markdown_blocks
from chunking.parsers.source import decode_text, require_document_id, told
from chunking.parsers.text import text_blocks
from chunking.text import clean_counted, clean_text


def parse_markdown(
    value: str | bytes, *, document_id: str, file_title: str = "", source: str = ""
) -> Document:
    """Parse CommonMark with tables, footnotes and display formulas.

    YAML front matter comes off: its `title` serves where `file_title` is empty, its other scalars
    become metadata. HTML comments and base64 pictures go, HTML tables become pipe tables.

    Args:
        value: The Markdown; bytes may have a byte order mark, and are UTF-8 without one.
        document_id: Stable and never altered.
        file_title: Its title for readers.
        source: Path or URL of the original.

    Returns:
        The document with its blocks, and with the Markdown as given, which their offsets refer to.

    Raises:
        ValueError: `document_id` is empty or cannot be stored, or `value` is no text.
    """
    tally: Counter[str] = Counter()
    document = Document(
        document_id=require_document_id(document_id),
        file_title=clean_text(file_title),
        source=clean_text(source),
        markdown=decode_text(value, tally),
    )
    return with_blocks(replace(document, warnings=told(tally)))


def parse_text(
    value: str | bytes, *, document_id: str, file_title: str = "", source: str = ""
) -> Document:
    """Read plain text: blank lines part paragraphs, and no heading is guessed.

    Arguments, result and errors are those of `parse_markdown`.
    """
    tally: Counter[str] = Counter()
    document = Document(
        document_id=require_document_id(document_id),
        file_title=clean_text(file_title),
        source=clean_text(source),
        text=decode_text(value, tally),
    )
    return with_blocks(replace(document, warnings=told(tally)))


def with_blocks(document: Document) -> Document:
    """Parse a document that has Markdown or text, but no blocks yet; others pass unchanged."""
    tally: Counter[str] = Counter()
    if document.blocks is not None:
        return document
    if document.markdown is not None:
        keys, start = split_front_matter(document.markdown, tally)
        title = keys.pop("title", "") if not document.file_title else document.file_title
        _count_removed(document.markdown, tally)
        blocks = markdown_blocks(document.markdown, start, tally)
        document = replace(document, file_title=title, metadata={**keys, **document.metadata})
    elif document.text is not None:
        _count_removed(document.text, tally)
        blocks = text_blocks(document.text, tally)
    else:
        return document
    return replace(document, blocks=tuple(blocks), warnings=document.warnings + told(tally))


def _count_removed(source: str, tally: Counter[str]) -> None:
    removed = clean_counted(source)[1]
    tally.update({f"{what} removed": count for what, count in removed.items()})

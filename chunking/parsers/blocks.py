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
        warnings=told(tally),
    )
    return with_blocks(document)


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
        warnings=told(tally),
    )
    return with_blocks(document)


def with_blocks(document: Document) -> Document:
    """Parse a document that has Markdown or text, but no blocks yet; others pass unchanged."""
    tally: Counter[str] = Counter()
    if document.blocks is not None:
        return document
    if document.markdown is not None:
        markdown = _encodable(document.markdown, tally)
        keys, start = split_front_matter(markdown, tally)
        title = keys.pop("title", "") if not document.file_title else document.file_title
        blocks = markdown_blocks(markdown, start, tally)
        metadata = {**keys, **document.metadata}
        document = replace(document, markdown=markdown, file_title=title, metadata=metadata)
    elif document.text is not None:
        text = _encodable(document.text, tally)
        blocks = text_blocks(text, tally)
        document = replace(document, text=text)
    else:
        return document
    return replace(document, blocks=tuple(blocks), warnings=document.warnings + told(tally))


def _encodable(source: str, tally: Counter[str]) -> str:
    """Give a source as UTF-8 can carry it, and count all that the blocks will be cleaned of.

    Offsets count in what is given here: halves of surrogate pairs go before, or become one
    character with the other half. All else stays as it is.
    """
    removed = clean_counted(source)[1]
    tally.update({f"{what} removed": count for what, count in removed.items()})
    try:
        source.encode()
    except UnicodeEncodeError:
        return source.encode("utf-16-le", "surrogatepass").decode("utf-16-le", errors="ignore")
    return source

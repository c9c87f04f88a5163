"""The `title` strategy as plain functions over Markdown."""

from collections import Counter
from pathlib import Path
from typing import Any

from chunking.parsers import parse_markdown
from chunking.parsers.source import decode_text
from chunking.strategies import make_chunker
from chunking.text import clean_text, is_blank

DEFAULT_TITLE = "Untitled"


def load_markdown_content(
    md_content: str | None = None,
    file_title: str | None = None,
    md_path: str | Path | None = None,
) -> tuple[str, str]:
    """Give a document's Markdown, cleaned (all line ends are LF), and its title.

    Args:
        md_content: The Markdown; where it is empty, `md_path` is read.
        file_title: Falls back to the stem of `md_path`, then to "Untitled".
        md_path: Where the document stands.

    Raises:
        ValueError: There is nothing but white space, or neither content nor path.
        OSError: The file cannot be read.
    """
    if md_content is None and md_path is None:
        raise ValueError("md_content and md_path are both missing; give one of them.")
    if not md_content and md_path is not None:
        md_content = decode_text(Path(md_path).read_bytes(), Counter())
    content = clean_text(md_content or "")
    if is_blank(content):
        raise ValueError(f"the document {str(md_path or file_title or '')!r} is empty.")
    title = (file_title or "").strip() or (Path(md_path).stem if md_path is not None else "")
    return content, title or DEFAULT_TITLE


def split_document(md_content: str, file_title: str) -> list[dict[str, Any]]:
    """Cut Markdown by its headings, then refine: the `title` strategy with its defaults.

    Returns:
        For each chunk `content` (title and text, at most 1,000 characters), `title` (with
        "-{part}" behind it when its section was cut), `parent_title` (without), `part`, and
        `file_title`, which is the title of what stands before the first heading.
    """
    title = file_title.strip() or DEFAULT_TITLE
    document = parse_markdown(md_content, document_id="markdown", file_title=title)
    return [
        {
            "content": chunk.content,
            "title": chunk.title,
            "file_title": chunk.file_title,
            "parent_title": chunk.parent_title,
            "part": chunk.part,
        }
        for chunk in make_chunker("title").chunk(document)
    ]

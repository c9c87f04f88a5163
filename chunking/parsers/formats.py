"""Which parser reads a file: by its name, and by what is in it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from chunking.model import Document
from chunking.parsers.blocks import parse_markdown, parse_text
from chunking.parsers.dialogue import parse_dialogue
from chunking.parsers.docling import parse_docling
from chunking.parsers.errors import ParseError
from chunking.parsers.fields import mapping_of
from chunking.parsers.mineru import parse_mineru
from chunking.parsers.mineru_v2 import is_paged
from chunking.parsers.source import decode_json, decode_text, told
from chunking.parsers.transcripts import is_transcript
from chunking.parsers.unstructured import parse_unstructured
from chunking.parsers.webvtt import is_cues

Format = Literal["markdown", "text", "dialogue", "docling", "unstructured", "mineru"]
FORMATS: tuple[Format, ...] = get_args(Format)

_PARSERS: dict[Format, Callable[..., Document]] = {
    "markdown": parse_markdown,
    "text": parse_text,
    "dialogue": parse_dialogue,
    "docling": parse_docling,
    "unstructured": parse_unstructured,
    "mineru": parse_mineru,
}
_SUFFIXES: dict[str, Format] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".vtt": "dialogue",
    ".srt": "dialogue",
    ".jsonl": "dialogue",
    ".ndjson": "dialogue",
}
_FOREIGN = frozenset({".html", ".htm", ".xml"})
_BINARY_HEAD = 1_000
_LOOKED_AT = 20
"""Elements of a list; the first may be damaged."""
READABLE_SUFFIXES = frozenset({*_SUFFIXES, ".json", ".txt", ".text"})
"""Names that `convert` looks for in a folder."""


def parse_file(
    path: str | Path,
    *,
    document_id: str | None = None,
    file_title: str | None = None,
    format: Format | Literal["auto"] = "auto",  # noqa: A002  # the command's own word for it
) -> Document:
    """Read one file, of the format named or found out.

    Args:
        path: The file.
        document_id: The path, with "/", when nothing is given.
        file_title: When nothing is given, what the document says of itself, else the file's stem.
        format: One of `FORMATS`, or "auto".

    Raises:
        ParseError: The file is of no format that is read here, or is damaged.
        OSError: The file cannot be opened.
        ValueError: `format` or `document_id` is not usable.
    """
    path = Path(path)
    return parse_bytes(
        path.read_bytes(),
        name=path.as_posix(),
        document_id=path.as_posix() if document_id is None else document_id,
        file_title=file_title,
        format=format,
    )


def parse_bytes(
    data: bytes,
    *,
    name: str,
    document_id: str,
    file_title: str | None = None,
    format: Format | Literal["auto"] = "auto",  # noqa: A002  # as above
) -> Document:
    """As `parse_file`, for a file whose bytes are there already; `name` is its path or URL."""
    if format != "auto" and format not in FORMATS:
        raise ValueError(f"format={format!r} must be one of auto, {', '.join(FORMATS)}.")
    try:
        value, found, warnings = _recognise(data, name, format)
        document = _PARSERS[found](
            value, document_id=document_id, file_title=file_title or "", source=name
        )
    except ParseError as error:
        raise ParseError(name, error.element, error.fault) from error
    title = document.file_title or PurePosixPath(name).stem
    return replace(document, file_title=title, warnings=warnings + document.warnings)


def _recognise(
    data: bytes, name: str, format_name: Format | Literal["auto"]
) -> tuple[Any, Format, tuple[str, ...]]:
    """Decode a file as far as it takes to know its format."""
    suffix = PurePosixPath(name).suffix.lower()
    tally: Counter[str] = Counter()
    if b"\x00" in data[:_BINARY_HEAD] and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0")):
        raise ParseError(name, "", "binary; run it through a document parser first")
    text = decode_text(data, tally)
    if format_name == "auto" and suffix in _FOREIGN:
        raise ParseError(name, "", f"{suffix} is not read; run it through a document parser first")
    if format_name == "auto":
        format_name = _SUFFIXES.get(suffix, "auto")
    if format_name in {"docling", "unstructured", "mineru"}:
        return decode_json(text, name, tally), format_name, told(tally)
    if format_name != "auto":
        return text, format_name, told(tally)
    if suffix == ".json" or (suffix not in {".txt", ".text"} and _begins_json(text)):
        value = decode_json(text, name, tally)
        return value, _json_format(value, name), told(tally)
    is_dialogue = is_cues(text) or is_transcript(text)
    return text, "dialogue" if is_dialogue else "text", told(tally)


def _json_format(value: Any, name: str) -> Format:
    """Tell parsers' files apart by the keys of their first elements."""
    if isinstance(value, dict):
        return "docling" if "schema_name" in value else "dialogue"
    if not isinstance(value, list):
        raise ParseError(name, "", f"JSON of a {type(value).__name__} is no document")
    if is_paged(value) or PurePosixPath(name).stem.endswith(("content_list", "content_list_v2")):
        return "mineru"
    for element in map(mapping_of, value[:_LOOKED_AT]):
        if "page_idx" in element:
            return "mineru"
        if "element_id" in element or "metadata" in element:
            return "unstructured"
        if "speaker" in element:
            return "dialogue"
        if "type" in element:
            is_lower = str(element["type"])[:1].islower()
            return "mineru" if is_lower else "unstructured"
    raise ParseError(
        name, "", "a list of no known elements; name its format (docling, unstructured, mineru…)"
    )


def _begins_json(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n")[:1] in {"{", "["}

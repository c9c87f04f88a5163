"""Parsers: what other tools wrote in, a Document out. Pure, but for `parse_file`."""

from chunking.parsers.blocks import parse_markdown, parse_text, with_blocks
from chunking.parsers.dialogue import parse_dialogue
from chunking.parsers.docling import parse_docling
from chunking.parsers.errors import ParseError
from chunking.parsers.formats import FORMATS, READABLE_SUFFIXES, Format, parse_bytes, parse_file
from chunking.parsers.mineru import parse_mineru
from chunking.parsers.unstructured import parse_unstructured

__all__ = [
    "FORMATS",
    "READABLE_SUFFIXES",
    "Format",
    "ParseError",
    "parse_bytes",
    "parse_dialogue",
    "parse_docling",
    "parse_file",
    "parse_markdown",
    "parse_mineru",
    "parse_text",
    "parse_unstructured",
    "with_blocks",
]

"""Parsers: what other tools wrote in, a Document out."""

from chunking.parsers.blocks import parse_markdown, parse_text, with_blocks
from chunking.parsers.errors import ParseError

__all__ = ["ParseError", "parse_markdown", "parse_text", "with_blocks"]

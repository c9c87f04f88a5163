"""Pure: a Document in, Chunks out. No network, no Ray, no clock."""

from chunking.model import Block, Chunk, Document
from chunking.protocols import Chunker
from chunking.sections import headings_without_text
from chunking.split_document import load_markdown_content, split_document
from chunking.strategies import make_chunker
from chunking.structure import StructureAwareChunker, StructureAwareMarkdownChunker

__all__ = [
    "Block",
    "Chunk",
    "Chunker",
    "Document",
    "StructureAwareChunker",
    "StructureAwareMarkdownChunker",
    "headings_without_text",
    "load_markdown_content",
    "make_chunker",
    "split_document",
]

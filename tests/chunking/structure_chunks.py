"""Blocks by hand, and chunks of them by the structure-aware chunker, checked by the rules."""

from chunking import Block, Document, StructureAwareChunker
from tests.rules import chunk_by_the_rules


def heading(text, level=1, **fields):
    return Block(kind="heading", text=text, level=level, **fields)


def paragraph(text, **fields):
    return Block(kind="paragraph", text=text, **fields)


def chunks_of(*blocks, max_tokens=512, overlap=0, document=None, **options):
    document = document or Document(document_id="d", file_title="File", blocks=blocks)
    chunker = StructureAwareChunker(max_tokens, overlap, **options)
    return chunk_by_the_rules(chunker, document, max_tokens=max_tokens, overlap=overlap)


def contents(*blocks, **options):
    return [chunk.content for chunk in chunks_of(*blocks, **options)]


def long_text(sentences=40):
    return "".join(f"这是第{n}个句子，说明一件事。" for n in range(sentences))


def outline(*texts):
    blocks = [heading("手册")]
    for n, text in enumerate(texts):
        blocks += [heading(f"节{n}", 2), paragraph(text)]
    return blocks

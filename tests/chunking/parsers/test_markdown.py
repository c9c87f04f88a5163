"""Markdown: CASES B and C as far as the parser decides them, and the rules of FORMATS 5."""

import pytest

from chunking.model import Block, Document
from chunking.parsers import parse_markdown, with_blocks


def blocks_of(markdown):
    return parse_markdown(markdown, document_id="d").blocks


def headings_of(markdown):
    return [(block.level, block.text) for block in blocks_of(markdown) if block.kind == "heading"]


def kinds_and_texts(markdown):
    return [(block.kind, block.text) for block in blocks_of(markdown)]


def test_what_looks_like_a_heading_and_what_is_one():
    """C20."""
    markdown = (
        "#标签\n\n####### 七个\n\n    # 缩进\n\n   # 三空格\n\n#\tTab\n\n## T ##\n\n标题行\n===\n\n"
        "- item\n---\n\n＃ 全角\n\n#\n\n正文"
    )

    assert headings_of(markdown) == [(1, "三空格"), (1, "Tab"), (2, "T"), (1, "标题行")]
    body = "\n".join(block.text for block in blocks_of(markdown) if block.kind != "heading")
    for word in ["#标签", "七个", "# 缩进", "item", "＃ 全角", "正文"]:
        assert word in body


def test_a_fence_that_is_never_closed_is_code_to_the_end():
    """C16."""
    document = parse_markdown(
        "# A\n前文\n```python\nx = 1\n\n## 重要章节\n关键内容 末尾", document_id="d"
    )

    assert document.blocks == (
        Block(kind="heading", text="A", level=1, char_start=2),
        Block(kind="paragraph", text="前文", char_start=4),
        Block(
            kind="code",
            text="x = 1\n\n## 重要章节\n关键内容 末尾",
            language="python",
            char_start=17,
        ),
    )


def test_a_fence_in_a_list_item_stays_in_the_list():
    """C19."""
    markdown = "1. 步骤\n   ```bash\n   # 注释\n   run\n   ```\n2. 下一步"

    assert kinds_and_texts(markdown) == [("list", markdown)]


def test_a_document_without_blocks_gets_them_and_one_with_blocks_keeps_its_own():
    own = Document(document_id="d", blocks=(), markdown="# A")

    assert with_blocks(own) is own
    assert with_blocks(Document(document_id="d", markdown="# A")).blocks == (
        Block(kind="heading", text="A", level=1, char_start=2),
    )
    assert with_blocks(Document(document_id="d", text="# A")).blocks == (
        Block(kind="paragraph", text="# A", char_start=0),
    )


@pytest.mark.parametrize("document_id", ["", None, 7, "\ud83d"])
def test_an_id_that_cannot_be_stored_is_refused_by_name(document_id):
    with pytest.raises(ValueError, match="document_id="):
        parse_markdown("text", document_id=document_id)

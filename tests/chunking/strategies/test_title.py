"""`title`, and its plain functions over Markdown."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from chunking import Block, Document, load_markdown_content, split_document
from chunking.parsers import parse_markdown
from tests.chunking.strategies.strategies import make

DATA = Path(__file__).parents[4] / "shared" / "data" / "markdown"
FILES = sorted(DATA.glob("zh_*.md")) + sorted(DATA.glob("edge_*.md"))
FENCE = re.compile(r"```[^`\n]*\n.*?\n```", re.DOTALL)
needs_data = pytest.mark.skipif(
    not FILES, reason="the parsers' real files are not beside this checkout"
)


def body_of(chunk):
    return chunk["content"].partition("\n")[2]


@needs_data
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_real_documents_give_neither_fragments_nor_giants(path):
    content, title = load_markdown_content(md_path=path)
    chunks = split_document(content, title)

    for chunk in chunks:
        assert len(chunk["content"]) <= 1_000
        assert chunk["content"].startswith(chunk["title"] + "\n")
        assert chunk["title"] in {chunk["parent_title"], f"{chunk['parent_title']}-{chunk['part']}"}
        assert chunk["file_title"] == path.stem
    for first, second in pairwise(chunks):
        if second["part"] > 1:
            assert second["part"] == first["part"] + 1
            assert second["parent_title"] == first["parent_title"]
            shortest = min(len(body_of(first)), len(body_of(second)))
            joined = f"{first['parent_title']}\n{body_of(first)}\n\n{body_of(second)}"
            assert shortest >= 400 or len(joined) > 1_000 - 4, (first, second)


@needs_data
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_table_or_fence_of_a_real_document_is_torn_while_it_fits(path):
    content, title = load_markdown_content(md_path=path)
    chunks = split_document(content, title)

    for block in parse_markdown(content, document_id="x").blocks:
        if block.kind in {"table", "code"} and len(block.text) < 800:
            text = "\n".join(line for line in block.text.split("\n") if line.strip())
            bodies = ["\n".join(filter(str.strip, body_of(each).split("\n"))) for each in chunks]
            assert any(text in body for body in bodies), block.text
    for chunk in chunks:
        assert len(re.findall("^ *```", chunk["content"], re.MULTILINE)) % 2 == 0


def test_a_section_within_the_size_is_one_chunk_under_its_own_title():
    chunks = split_document("前言。\n\n# 安装\n先解压。\n\n## 配置\n再配置。", "手册")

    assert chunks == [
        {
            "content": f"{title}\n{text}",
            "title": title,
            "file_title": "手册",
            "parent_title": title,
            "part": 1,
        }
        for title, text in [("手册", "前言。"), ("安装", "先解压。"), ("配置", "再配置。")]
    ]


def test_a_long_section_is_cut_into_numbered_parts_with_whole_sentences_of_overlap():
    text = "".join(f"这是第{number:03d}句话，它有些长度。" for number in range(120))
    chunks = split_document(f"# 长\n{text}", "手册")

    assert [chunk["title"] for chunk in chunks] == [f"长-{n}" for n in range(1, len(chunks) + 1)]
    for first, second in pairwise(chunks):
        assert 400 <= len(first["content"]) <= 660
        assert body_of(first).endswith(body_of(second)[: 3 * len("这是第000句话，它有些长度。")])


@pytest.mark.parametrize("length", range(386, 400))
def test_the_number_of_the_part_counts_towards_the_maximum(length):
    texts = [sign * size + "。" for sign, size in [("甲", 604), ("乙", length - 1), ("丙", 690)]]
    document = parse_markdown("# 题\n" + "\n\n".join(texts), document_id="d")
    chunks = make("title", size=700, overlap=0).chunk(document)

    assert max(len(chunk.content) for chunk in chunks) <= 1_000
    assert len(chunks) == (2 if length <= 389 else 3)


@pytest.mark.parametrize("heading", ["题", "标题" * 3, "a b c", "很长的标题" * 9])
@pytest.mark.parametrize("max_tokens", range(16, 28))
def test_the_number_of_the_part_gives_way_to_the_hard_maximum(heading, max_tokens):
    document = parse_markdown(f"# {heading}\n{'汉字龘' * 60}", document_id="d")
    chunks = make("title", max_tokens=max_tokens).chunk(document)

    assert all(chunk.token_count <= max_tokens for chunk in chunks)
    assert [chunk.part for chunk in chunks] == list(range(1, len(chunks) + 1))


def test_a_table_over_the_size_but_within_the_maximum_stays_whole():
    rows = "\n".join(f"| 型号{n:02d} | 这是一行说明文字，长度适中 |" for n in range(32))
    table = f"| 型号 | 说明 |\n|---|---|\n{rows}"
    assert 700 < len(table) < 990
    (chunk,) = split_document(f"# 表\n{table}", "手册")

    assert chunk["content"] == f"表\n{table}"


def test_line_ends_of_any_kind_give_the_same_chunks():
    text = "# 标题\n正文一。\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n"

    expected = split_document(text, "t")
    assert split_document(text.replace("\n", "\r\n"), "t") == expected
    assert split_document(text.replace("\n", "\r"), "t") == expected


def test_without_a_heading_the_file_title_is_the_title_and_else_a_default():
    assert split_document("只有正文。", "手册")[0]["title"] == "手册"
    assert split_document("只有正文。", " ")[0]["content"] == "Untitled\n只有正文。"


def test_a_title_that_looks_like_a_fence_opens_none():
    (chunk,) = make("title").chunk(Document(document_id="x", file_title="```py", text="正文。"))

    assert chunk.content == "\\```py\n正文。"


@pytest.mark.parametrize("name", ["title", "markdown"])
@pytest.mark.parametrize(
    "inside", ["```sh\n  停下。 备份。\n  ```", "| 名 | 值 |\n  |---|---|\n  | 甲。 | 乙。 |"]
)
def test_overlap_repeats_nothing_of_code_or_a_table_inside_a_list(name, inside):
    blocks = (
        Block(kind="list", text=f"- 先停机。\n\n  {inside}"),
        Block(kind="paragraph", text="然后重启服务。" * 6),
    )
    options = {
        "title": {"max_size": 70, "size": 60, "min_size": 0, "overlap": 20},
        "markdown": {"size": 60, "min_chunk": 0, "overlap_ratio": 0.3},
    }

    first, second = make(name, **options[name]).chunk(Document(document_id="x", blocks=blocks))

    assert first.content.endswith(inside)
    assert "然后重启服务。" * 6 in second.content
    assert "。 " not in second.content


def test_content_is_taken_before_the_file_and_the_title_falls_back(tmp_path):
    path = tmp_path / "运维手册.md"
    path.write_bytes("\ufeff# A\r\n文\r\n".encode())

    assert load_markdown_content("# B\r\n文", None, path) == ("# B\n文", "运维手册")
    assert load_markdown_content("", "标题", path) == ("# A\n文\n", "标题")
    assert load_markdown_content("# B") == ("# B", "Untitled")


def test_an_empty_document_is_named(tmp_path):
    path = tmp_path / "空.md"
    path.write_text(" \n\u200b\n", encoding="utf-8")

    with pytest.raises(ValueError, match=r"空\.md.* is empty"):
        load_markdown_content(md_path=path)
    with pytest.raises(ValueError, match="md_content and md_path"):
        load_markdown_content()

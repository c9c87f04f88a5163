"""CASES B: headings and code in Markdown, from the source to the chunks."""

from itertools import pairwise
from pathlib import Path

import pytest

from chunking import Block, Document, StructureAwareChunker, headings_without_text
from chunking.parsers import parse_markdown
from tests.rules import body_of, chunk_by_the_rules, count_tokens

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the parsers' real files are not beside this checkout"
)


def chunks_of(markdown, max_tokens=512, overlap=0, **options):
    document = parse_markdown(markdown, document_id="guide", file_title="Guide")
    chunker = StructureAwareChunker(max_tokens=max_tokens, overlap_tokens=overlap, **options)
    return chunk_by_the_rules(chunker, document, max_tokens=max_tokens, overlap=overlap)


def headings_of(markdown):
    blocks = parse_markdown(markdown, document_id="guide").blocks
    return [(block.level, block.text) for block in blocks if block.kind == "heading"]


@needs_data
@pytest.mark.parametrize(
    ("name", "headings"),
    [
        (
            "zh_rocketmq_Deployment.md",
            [
                "部署架构和设置步骤",
                "集群的设置",
                "1 单master模式",
                "2 多Master模式",
                "3 多Master多Slave模式-异步复制",
                "4 多Master多Slave模式-同步双写",
                "5 RocketMQ 5.0 自动主从切换",
            ],
        ),
        (
            "en_milvus_integrate_with_cohere.md",
            [
                "Question Answering Using Milvus and Cohere",
                "Before you begin",
                "Parameters",
                "Prepare the dataset",
                "Create a collection",
                "Insert data",
                "Ask questions",
            ],
        ),
        ("zh_apisix_upstream.md", ["描述", "配置参数", "使用示例", "Consumer", "Cookie", "Header"]),
    ],
)
def test_c14_c19_comments_in_code_are_no_headings_in_real_files(name, headings):
    markdown = (DATA / "markdown" / name).read_text()

    assert [text for _, text in headings_of(markdown)] == headings
    for max_tokens in (48, 512):
        chunks_of(markdown, max_tokens=max_tokens)


def test_c16_a_fence_that_is_never_closed_is_code_to_the_end():
    markdown = "# A\n前文\n```python\nx = 1\n\n## 重要章节\n关键内容 末尾"
    chunks = chunks_of(markdown)

    assert headings_of(markdown) == [(1, "A")]
    last = chunks[-1]
    assert "关键内容" in last.content
    assert last.kind == "code"
    assert last.content.endswith("\n```")


def test_c18_a_long_code_block_is_cut_by_lines_with_a_fence_for_each_part():
    lines = [("    " * (1 + n % 2)) + f"value_{n} = compute({n})" for n in range(120)]
    lines[10] = lines[50] = lines[51] = ""
    lines[70] = "    long = " + " + ".join(f"term_{n}" for n in range(110))
    code = "\n".join(lines)
    chunks = chunks_of(f"```python\n{code}\n```\n", max_tokens=64)

    bodies = []
    for chunk in chunks:
        assert chunk.content.startswith("```python\n")
        assert chunk.content.endswith("\n```")
        bodies.append(chunk.content.removeprefix("```python\n").removesuffix("\n```"))
        assert bodies[-1].strip()
    joined, cut = "", False
    for body in bodies:
        is_piece = body != lines[70] and body.strip() and body in lines[70]
        joined += body if cut and is_piece else ("\n" if joined else "") + body
        cut = is_piece
    assert joined == code


def test_code_keeps_its_blank_lines_byte_for_byte():
    code = "\n\na = 1\n\n\n\n" + "\n".join(f"b{n} = {n}\n" for n in range(60)) + "\n\n"
    document = Document(
        document_id="code", blocks=(Block(kind="code", text=code, language="python"),)
    )
    chunker = StructureAwareChunker(max_tokens=64, overlap_tokens=0)
    chunks = chunk_by_the_rules(chunker, document, max_tokens=64)

    bodies = [c.content.removeprefix("```python\n").removesuffix("\n```") for c in chunks]
    assert len(chunks) > 3
    assert "\n".join(bodies) == code.removesuffix("\n")


def test_parts_of_code_are_as_full_as_whole_lines_allow():
    code = "\n".join(f"value_{n} = compute({n})" for n in range(120))
    parts = [chunk.content for chunk in chunks_of(f"```python\n{code}\n```\n", max_tokens=64)]

    for part, following in pairwise(parts):
        next_line = following.split("\n")[1]
        assert count_tokens(part.removesuffix("```") + f"{next_line}\n```") > 64


def test_blank_lines_behind_a_line_that_is_cut_stay_with_its_last_piece():
    code = "a = " + " + ".join(f"term_{n}" for n in range(60)) + "\n\n\nb = 1"
    *_, last, after = chunks_of(f"```python\n{code}\n```\n", max_tokens=64)

    assert last.content.endswith("term_59\n\n\n```")
    assert after.content == "```python\nb = 1\n```"


def test_a_fence_is_longer_than_any_run_of_backticks_in_its_code():
    code = "````md\n```sh\nls\n```\n````\n" + "text line\n" * 80
    document = Document(document_id="code", blocks=(Block(kind="code", text=code),))
    chunks = StructureAwareChunker(max_tokens=64, overlap_tokens=0).chunk(document)

    assert len(chunks) > 1
    assert all(c.content.startswith("`````\n") for c in chunks)
    assert all(c.content.endswith("\n`````") for c in chunks)


@pytest.mark.parametrize("caption", ["Listing 1: all lines", "清单 1：全部"])
def test_a_caption_of_code_stands_above_the_first_lines_only(caption):
    code = "\n".join(f"line {n} of code" for n in range(80))
    block = Block(kind="code", text=code, caption=caption, language="text")
    chunker = StructureAwareChunker(max_tokens=64, overlap_tokens=0)
    document = Document(document_id="code", blocks=(block,))

    first, *others = chunk_by_the_rules(chunker, document, max_tokens=64)

    assert first.content.startswith(f"{caption}\n```text\nline 0 of code\nline 1 of code\n")
    assert len(others) > 5
    assert not any(caption in chunk.content for chunk in others)


@pytest.mark.parametrize("caption", ["说明 " * 60, "a step, " * 16])
def test_a_caption_without_room_for_a_line_below_has_its_own_part(caption):
    code = "\n".join(f"line {n} of code" + " and more" * 12 for n in range(9))
    block = Block(kind="code", text=code, caption=caption)
    chunker = StructureAwareChunker(max_tokens=64, overlap_tokens=0)

    chunks = chunk_by_the_rules(chunker, Document(document_id="d", blocks=(block,)), max_tokens=64)

    above = [chunk.content for chunk in chunks if "```" not in chunk.content]
    assert "".join(above).replace(" ", "") == caption.replace(" ", "")


def test_c19_a_fence_in_a_list_item_belongs_to_the_item():
    markdown = "1. 步骤\n   ```bash\n   # 注释\n   run\n   ```\n2. 下一步"

    assert headings_of(markdown) == []
    (chunk,) = chunks_of(markdown)
    assert chunk.kind == "list"
    assert chunk.content.endswith("2. 下一步")


@pytest.mark.parametrize(
    ("opening", "closing", "lead"),
    [("   ```bash", "   ```", "   "), ("   ~~~~", "   ~~~~", "   "), ("1. ```sh", "   ```", "   ")],
)
def test_c19_a_long_fence_in_a_list_is_cut_into_fences_of_the_same_indentation(
    opening, closing, lead
):
    before = "" if opening.startswith("1") else "1. 步骤\n"
    code = "\n".join(f"{lead}run step-{n} --now" for n in range(60))
    chunks = chunks_of(f"{before}{opening}\n{code}\n{closing}\n2. 下一步", max_tokens=64)

    parts = [body_of(chunk) for chunk in chunks if "run step" in chunk.content]
    assert len(parts) > 3
    assert all(part.endswith("\n" + closing) for part in parts)
    assert "2. 下一步" in chunks[-1].content


@pytest.mark.parametrize(
    ("opening", "margin"), [("1. ```", "   "), ("> ~~~", "> "), ("- > ```", "  > ")]
)
def test_c19_each_piece_of_a_long_line_stays_in_the_item_of_its_fence(opening, margin):
    code = "运行 run step, " * 60
    chunks = chunks_of(f"{opening}\n{margin}{code}\n{margin}{opening[-3:]}\n", max_tokens=64)

    lines = [body_of(chunk).split("\n") for chunk in chunks]
    assert len(chunks) > 3
    assert all(len(part) == 3 and part[1].startswith(margin) for part in lines)


def test_c19_a_fence_left_open_in_a_list_item_ends_with_the_item():
    chunks = chunks_of("- 步骤\n  ```bash\n  run\n- 下一步\n\n段落")

    assert "  run\n  ```\n- 下一步" in chunks[0].content


def test_c20_what_is_a_heading_and_what_is_not():
    markdown = (
        "#标签\n\n####### 七个\n\n    # 缩进\n\n   # 三空格\n\n#\tTab\n\n## T ##\n\n标题行\n===\n\n"
        "- item\n---\n\n＃ 全角\n\n#\n\n正文"
    )
    chunks = chunks_of(markdown)

    assert headings_of(markdown) == [(1, "三空格"), (1, "Tab"), (2, "T"), (1, "标题行")]
    assert all(name for chunk in chunks for name in chunk.heading_path)
    content = "\n".join(chunk.content for chunk in chunks)
    for text in ("#标签", "七个", "# 缩进", "item", "＃ 全角", "正文"):
        assert text in content


def test_c22_headings_without_text_are_listed_and_make_no_chunk():
    markdown = "# A\n## B\n## C\n正文C\n# D"
    document = parse_markdown(markdown, document_id="guide")
    (chunk,) = chunks_of(markdown)

    assert chunk.heading_path == ("A", "C")
    assert headings_without_text(document) == ["B", "D"]


def test_c22_a_document_of_headings_gives_no_chunk_and_all_its_headings():
    markdown = "# A\n## B\n# C\n"

    assert chunks_of(markdown) == []
    document = parse_markdown(markdown, document_id="guide")
    assert headings_without_text(document) == ["A", "B", "C"]


def test_c24_a_deeper_heading_is_closed_when_the_outline_goes_up():
    chunks = chunks_of("# A\n#### B\n正文1\n## C\n正文2\n### D\n正文3\n# E\n正文4")

    assert [c.heading_path for c in chunks] == [("A", "B"), ("A", "C"), ("A", "C", "D"), ("E",)]


def test_c25_a_very_long_heading_leaves_room_for_its_text():
    chunks = chunks_of(f"# {'很长的标题' * 400}\n\n正文只有一句。", max_tokens=64)

    (chunk,) = chunks
    prefix, _, body = chunk.content.partition("\n")
    assert body == "正文只有一句。"
    assert prefix.startswith("章节：很长的标题")
    assert 8 < count_tokens(prefix) <= 16
    assert chunk.heading_path == ("很长的标题" * 400,)


def test_the_prefix_never_takes_more_than_half_of_a_small_budget():
    chunks = chunks_of(f"# {'长' * 50}\n\n正文" + "内容" * 50, max_tokens=16)

    assert len(chunks) > 3
    assert all(count_tokens(chunk.content.partition("\n")[0]) <= 8 for chunk in chunks)


def test_c26_the_three_line_ends_give_equal_chunks():
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
    lf = f"# 一\n\n文字\n第二行\n\n{table}\n\n```sh\nls\n\npwd\n```\n"
    unix, dos, mac = (
        [(c.chunk_id, c.content, c.heading_path) for c in chunks_of(lf.replace("\n", end))]
        for end in ("\n", "\r\n", "\r")
    )

    assert unix == dos == mac
    assert len(unix) == 3


@needs_data
def test_c26_a_real_file_with_mixed_line_ends_keeps_its_tables():
    path = DATA / "markdown" / "zh_rocketmq_best_practice_crlf.md"
    markdown = path.read_bytes().decode()
    blocks = parse_markdown(markdown, document_id="guide").blocks
    chunks = chunks_of(markdown)

    assert len(headings_of(markdown)) == 40
    assert sum(block.kind == "table" for block in blocks) == 6
    assert sum(chunk.content.count("\n\n|") for chunk in chunks) == 0
    assert not any("\r" in chunk.content for chunk in chunks)


def test_c27_a_heading_is_in_the_prefix_and_not_in_the_body():
    blocks = (
        Block(kind="heading", text="安装", level=1),
        Block(kind="paragraph", text="先解压。"),
    )
    document = Document(document_id="guide", blocks=blocks)
    (chunk,) = chunk_by_the_rules(StructureAwareChunker(), document, max_tokens=512, overlap=64)

    assert chunk.content == "章节：安装\n先解压。"

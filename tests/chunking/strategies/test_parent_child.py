"""`parent_child`: small chunks that know where they come from."""

from dataclasses import replace
from itertools import pairwise

import pytest

from chunking import Block, Document
from chunking.ids import chunk_id
from chunking.parsers import parse_markdown
from chunking.protocols import FullChunker, chunk_fully
from tests.chunking.strategies.strategies import ALL, make
from tests.rules import assert_lines_in_order, body_of, count_tokens

ROWS = "\n".join(f"| {n} | 第{n}行的说明文字 |" for n in range(400))
MARKDOWN = f"""# 手册
前言。

## 安装
{"先解压，然后安装依赖。" * 90}

```sh
{"pip install x" * 3}
```

{"再配置环境变量。" * 40}

## 参数
见下表：

| 编号 | 说明 |
|---|---|
{ROWS}
"""


@pytest.fixture(scope="module")
def document():
    return parse_markdown(MARKDOWN, document_id="d", file_title="手册")


@pytest.fixture(scope="module")
def made(document):
    return make("parent_child").cut(document)


def test_children_are_what_chunk_gives_and_each_names_a_parent_that_exists(document, made):
    chunker = make("parent_child")
    assert isinstance(chunker, FullChunker)

    assert chunker.chunk(document) == made.chunks
    parents = {parent.chunk_id for parent in made.parents}
    assert {child.parent_id for child in made.chunks} == parents
    assert not any(parent.parent_id for parent in made.parents)


def test_parents_are_chunks_of_their_own_kind_numbered_behind_the_children(document, made):
    for index, parent in enumerate(made.parents, start=len(made.chunks)):
        assert parent.kind == "parent"
        assert parent.chunk_index == index
        assert parent.chunk_id == chunk_id("d", index, parent.content)
    assert "parent" not in {child.kind for child in made.chunks}


def test_an_only_child_with_the_text_of_its_parent_has_an_id_of_its_own(made):
    child, parent = made.chunks[0], made.parents[0]

    assert child.content == parent.content == "章节：手册\n前言。"
    assert child.chunk_id != parent.chunk_id
    assert child.parent_id == parent.chunk_id


def test_a_parent_holds_all_below_its_heading_and_is_cut_only_when_too_long(made):
    titles = [parent.title for parent in made.parents]

    assert titles == ["手册", "安装", "参数-1", "参数-2", "参数-3", "参数-4"]
    assert "pip install" in made.parents[1].content
    assert "再配置环境变量。" in made.parents[1].content
    assert all(parent.token_count <= 2_048 for parent in made.parents)
    assert all(child.token_count <= 256 for child in made.chunks)
    assert all("| 编号 | 说明 |" in parent.content for parent in made.parents[3:])


def test_parents_hold_every_letter_once_too(document, made):
    flat = [replace(parent, parent_id="") for parent in made.parents]

    assert_lines_in_order(document, flat, overlap=0)


def test_a_child_knows_its_place_in_the_content_of_its_parent(made):
    parents = {parent.chunk_id: parent for parent in made.parents}
    for child in made.chunks:
        about, parent = child.metadata, parents[child.parent_id]
        part = parent.content[about["parent_start"] : about["parent_end"]]
        if child.kind == "table":
            rows = [line for line in body_of(child).split("\n") if "行的" in line]
            assert [line for line in part.split("\n") if "行的" in line] == rows
        else:
            assert part == body_of(child)


@pytest.mark.parametrize(
    "block",
    [
        Block(
            kind="code",
            language="py",
            text="\n".join(f"v{n} = call({n})  # 第{n}步" for n in range(99)),
        ),
        Block(kind="list", text="- ```\n" + "".join(f"  甲{n}乙" for n in range(150)) + "\n  ```"),
        Block(kind="paragraph", text="没有句号的一段话" * 90),
    ],
    ids=lambda block: block.kind,
)
def test_pieces_of_one_block_follow_one_another_in_their_parent(block):
    after = Block(kind="code", language="py", text="v1 = call(1)")
    document = Document(document_id="d", blocks=(block, after))

    made = make("parent_child", child_size=48).cut(document)

    (parent,) = made.parents
    places = [(c.metadata["parent_start"], c.metadata["parent_end"]) for c in made.chunks]
    assert len(places) > 5
    for (start, end), (following, _) in pairwise([*places, (len(parent.content), 0)]):
        assert start < end <= following
        assert not any(map(str.isalnum, parent.content[end:following].replace("```py", "")))


def test_a_parent_counts_its_children(made):
    for parent in made.parents:
        own = [child for child in made.chunks if child.parent_id == parent.chunk_id]
        assert parent.metadata["children"] == len(own) > 0
        spans = [(c.metadata["parent_start"], c.metadata["parent_end"]) for c in own]
        assert spans == sorted(spans)


def test_parts_count_within_the_section_for_children_and_parents_alike(made):
    install = [child for child in made.chunks if child.parent_title == "安装"]

    assert [child.part for child in install] == list(range(1, len(install) + 1))
    assert [parent.part for parent in made.parents[2:]] == [1, 2, 3, 4]


def test_a_caption_of_code_that_a_parent_cuts_stands_before_the_first_fence():
    code = "\n".join(f"value_{n} = compute({n})" for n in range(90))
    block = Block(kind="code", text=code, language="py", caption="清单 1")

    made = make("parent_child", parent_size=256, child_size=64).cut(
        Document(document_id="d", blocks=(block,))
    )

    assert len(made.parents) > 2
    bodies = [body_of(chunk) for chunk in (*made.parents, *made.chunks)]
    assert {body.partition("```")[0] for body in bodies} == {"", "清单 1\n"}
    assert {body.count("```") for body in bodies} == {2}


def test_code_cut_by_a_parent_keeps_its_fence_in_parents_and_children():
    code = "\n".join(f"value_{n} = compute({n})" for n in range(600))
    document = Document(document_id="d", blocks=(Block(kind="code", text=code, language="py"),))
    made = make("parent_child").cut(document)

    assert len(made.parents) > 1
    for chunk in (*made.chunks, *made.parents):
        assert chunk.content.startswith("```py\n") or chunk.content.startswith("```\n")
        assert chunk.content.endswith("\n```")
        assert chunk.content.count("```") == 2


def test_an_edit_in_one_section_leaves_the_rows_of_others_but_for_their_place(document):
    edited = parse_markdown(MARKDOWN + "\n完。", document_id="d", file_title="手册")
    before, after = make("parent_child").cut(document), make("parent_child").cut(edited)

    assert [c.content for c in before.parents[:4]] == [c.content for c in after.parents[:4]]
    assert before.chunks[0].payload_hash != ""
    assert [c.chunk_id for c in before.chunks[:20]] == [c.chunk_id for c in after.chunks[:20]]


@pytest.mark.parametrize("name", [name for name in ALL if name != "parent_child"])
def test_other_strategies_have_no_parents(name, document):
    made = chunk_fully(make(name), document)

    assert not made.parents
    assert not any(chunk.parent_id for chunk in made.chunks)


def test_sizes_may_be_characters():
    text = "一句话，说了一点。" * 300
    made = make("parent_child", unit="chars", parent_size=900, child_size=100).cut(
        Document(document_id="d", text=text)
    )

    assert max(len(parent.content) for parent in made.parents) in range(800, 901)
    assert max(len(child.content) for child in made.chunks) in range(80, 101)
    assert count_tokens(made.parents[0].content) == made.parents[0].token_count

import pytest

from chunking import Block, Document
from chunking.structure import StructureAwareChunker

TABLE = "| 端口 | 用途 |\n|---|---|\n| 7443 | 数据 |"


def bodies(*blocks, limit=64, max_tokens=512):
    chunker = StructureAwareChunker(max_tokens, 0, lead_in_tokens=limit)
    return [chunk.content for chunk in chunker.chunk(Document(document_id="d", blocks=blocks))]


def paragraph(text, **place):
    return Block(kind="paragraph", text=text, **place)


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (Block(kind="table", text=TABLE), TABLE),
        (Block(kind="code", text="x = 1", language="py"), "```py\nx = 1\n```"),
        (Block(kind="image", text="A relay"), "A relay"),
    ],
    ids=["table", "code", "image"],
)
def test_the_last_paragraph_before_it_becomes_its_caption(block, shown):
    given = paragraph("先说别的。"), paragraph("须开放下列\n端口："), block, paragraph("After.")

    assert bodies(*given) == ["先说别的。", f"须开放下列 端口：\n{shown}", "After."]


def test_by_default_prose_and_tables_are_apart():
    assert bodies(paragraph("Ports:"), Block(kind="table", text=TABLE), limit=0) == [
        "Ports:",
        TABLE,
    ]


@pytest.mark.parametrize(
    "blocks",
    [
        [paragraph("word " * 65), Block(kind="table", text=TABLE)],
        [paragraph("Ports:"), Block(kind="table", text=TABLE, caption="Table 1")],
        [paragraph("Ports:"), Block(kind="table", text="<table><caption>Table 1</caption><tr>"
                                    "<td>a</td></tr></table>")],
        [paragraph("Ports:", page=1), Block(kind="table", text=TABLE, page=2)],
        [paragraph("Ports:"), Block(kind="heading", text="甲"), Block(kind="table", text=TABLE)],
        [Block(kind="list", text="- a"), Block(kind="table", text=TABLE)],
        [paragraph("Ports:"), Block(kind="image", text=""), Block(kind="table", text=TABLE)],
    ],
    ids=["too long", "own caption", "caption in HTML", "page", "heading", "list", "picture"],
)  # fmt: skip
def test_it_stays_prose_where_it_introduces_nothing(blocks):
    first, second = bodies(*blocks)

    assert "7443" not in first
    assert "Ports" not in second


def test_it_stays_with_the_first_part_of_a_long_table():
    rows = "".join(f"\n| {7000 + n} | 用途 {n} |" for n in range(40))

    first, *others = bodies(
        paragraph("下列端口："), Block(kind="table", text=TABLE + rows), max_tokens=128
    )

    assert first.startswith("下列端口：\n| 端口 | 用途 |")
    assert others
    assert all("| 端口 | 用途 |" in other for other in others)


def test_nothing_is_said_twice():
    text = "\n".join(bodies(paragraph("Ports:"), Block(kind="table", text=TABLE), paragraph("x")))

    assert text.count("Ports:") == 1

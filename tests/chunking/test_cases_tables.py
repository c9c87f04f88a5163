"""CASES A: tables."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from chunking import Block, Document, StructureAwareChunker
from chunking.parsers import parse_markdown
from tests.rules import body_of, chunk_by_the_rules, count_tokens

DATA = Path(__file__).parents[3] / "shared" / "data"
HEADER = "| 型号 | 说明 |"


def a_table(text, **fields):
    return Document(document_id="table", blocks=(Block(kind="table", text=text, **fields),))


def chunks_of(document, max_tokens=512, **options):
    chunker = StructureAwareChunker(max_tokens=max_tokens, overlap_tokens=0, **options)
    return chunk_by_the_rules(chunker, document, max_tokens=max_tokens)


def bodies_of(text, max_tokens, **fields):
    return [body_of(chunk) for chunk in chunks_of(a_table(text, **fields), max_tokens)]


def test_c01_a_giant_row_is_cut_alone_and_the_rows_after_it_keep_their_header():
    giant = "字段说明" * 60
    rows = ["| XQ-10 | 小型 |", f"| XQ-20 | {giant} |", "| XQ-30 | 大型 |"]
    bodies = bodies_of("\n".join([HEADER, "|---|---|", *rows]), 64)

    without_header = [body for body in bodies if HEADER not in body]
    assert all(set(body) <= set(rows[1]) for body in without_header)
    assert giant in "".join(without_header)
    assert HEADER in next(body for body in bodies if "XQ-30" in body)
    assert not any("XQ-20" in body and "XQ-10" in body for body in bodies)


def test_c01_a_giant_first_row_does_not_leave_the_header_alone():
    bodies = bodies_of(f"{HEADER}\n|---|---|\n| XQ-20 | {'字段说明' * 60} |", 64)

    assert bodies[0] == f"{HEADER}\n|---|---|\n| XQ-20 |"


@pytest.mark.parametrize(
    ("head", "repeated"),
    [
        ("产品 | 价格\n", {"产品 | 价格"}),
        ("产品 | 价格\n\n---|---\n", {"产品 | 价格", "---|---"}),
    ],
    ids=["no separator", "blank line before it"],
)
def test_c03_a_table_with_a_broken_head_keeps_every_line_whole(head, repeated):
    rows = [f"商品{n} | {n}" for n in range(200)]
    bodies = bodies_of(head + "\n".join(rows), 96)

    lines = [line for body in bodies for line in body.split("\n")]
    assert [line for line in lines if line not in repeated] == rows
    assert all(body.startswith("产品 | 价格\n") for body in bodies)
    if len(repeated) > 1:
        assert all(body.startswith("产品 | 价格\n---|---\n") for body in bodies)


def test_c05_a_second_header_is_repeated_and_a_blank_first_cell_in_the_middle_is_not():
    header = "| 机型 | 上行 | | 下行 | |"
    second = "| | 均值 | 峰值 | 均值 | 峰值 |"
    rows = [f"| M{n} | {n} | {n + 1} | {n + 2} | {n + 3} |" for n in range(120)]
    rows[59] = "| | 60 | 61 | 62 | 63 |"
    bodies = bodies_of("\n".join([header, "|---|---|---|---|---|", second, *rows]), 96)

    assert all(header in body and second in body for body in bodies)
    lines = [line for body in bodies for line in body.split("\n")[3:]]
    assert lines == rows


@pytest.mark.parametrize(
    ("rows", "label", "repeated"),
    [
        (["| | EN-DE | EN-FR |", "| | BLEU | BLEU |"], "r", 2),
        (["| | 2023 | 2024 |"], "r", 1),
        (["| | 60 | 61 |"], "r", 0),
        (["| | a | b |", "| | c | d |"], "", 0),
        (["| | a | b |", "| | c | d |", "| | e | f |"], "r", 2),
        (["| | | |"], "r", 0),
        (["| a | 1 | 2 |", "| | b | c |"], "r", 0),
    ],
)
def test_second_headers_name_groups_right_below_the_separator(rows, label, repeated):
    others = [f"| {label}{n if label else ''} | v{n} | w |" for n in range(80)]
    bodies = bodies_of("\n".join(["| h | x | y |", "|---|---|---|", *rows, *others]), 64)

    assert len(bodies) > 3
    assert [line for line in rows if all(line in body for body in bodies)] == rows[:repeated]


def test_c07_a_row_is_never_cut_while_it_fits():
    rows = [f"| 2026-01-07 | 1234567.{n:03} | 正常 |" for n in range(500)]
    text = "\n".join(["表 7 收入", "| 日期 | 金额 | 状态 |", "|---|---|---|", *rows])
    bodies = bodies_of(text, 128)

    lines = [line for body in bodies for line in body.split("\n") if line != "表 7 收入"]
    assert all(re.search(r"^\|.*\|$", line) for line in lines)
    assert [line for line in lines if "1234567." in line] == rows
    assert all(body.startswith("表 7 收入\n| 日期") for body in bodies)


def test_what_does_not_fit_gives_way_caption_first_then_second_header_then_header():
    caption, header, second = "图注" * 12, "| 名称 | 上行 | 下行 |", "| | 均值 | 峰值 |"
    separator = "|---|---|---|"
    rows = [f"| {'长' * n} | 1 | 2 |" for n in (2, 30, 36, 54, 2)]
    text = "\n".join([header, separator, second, *rows])
    bodies = bodies_of(text, 72, caption=caption)

    def head(n):
        return next(body for body in bodies if f" {'长' * n} " in body)

    assert head(2).startswith(f"{caption}\n{header}\n{separator}\n{second}\n")
    assert head(30).startswith(f"{header}\n{separator}\n{second}\n")
    assert head(36).startswith(f"{header}\n{separator}\n| 长")
    assert head(54) == rows[3]


def test_a_caption_stands_on_every_part_while_it_fits_and_is_not_doubled():
    rows = [f"| {n} | x |" for n in range(100)]
    text = "\n".join(["表 1 参数", HEADER, "|---|---|", *rows])
    bodies = bodies_of(text, 64, caption="表 1 参数")

    assert len(bodies) > 5
    assert all(body.count("表 1 参数") == 1 for body in bodies)


@pytest.mark.skipif(
    not DATA.is_dir(), reason="the parsers' real files are not beside this checkout"
)
def test_c09_html_tables_of_a_real_file_become_39_tables():
    text = (DATA / "markdown" / "en_milvus_configure_proxy_htmltables.md").read_text()
    document = parse_markdown(text, document_id="c09")
    chunks = chunks_of(document)

    assert sum(block.kind == "table" for block in document.blocks) == 39
    assert sum(block.kind == "heading" for block in document.blocks) == 40
    for chunk in chunks:
        assert chunk.content.count("<tr") == chunk.content.count("</tr>")


@pytest.mark.parametrize("as_block", [False, True], ids=["in Markdown", "as a block"])
def test_c09_the_head_of_an_html_table_is_in_every_part_and_no_row_is_cut(as_block):
    rows = "".join(f"<tr><td>参数{n}</td><td>{n * 7}</td></tr>\n" for n in range(100))
    html = f"<table><thead><tr><th>名称</th><th>值</th></tr></thead><tbody>{rows}</tbody></table>"
    chunks = chunks_of(a_table(html) if as_block else parse_markdown(html, document_id="c09"), 96)

    assert len(chunks) > 5
    assert all("| 名称 | 值 |" in chunk.content for chunk in chunks)
    content = "\n".join(chunk.content for chunk in chunks)
    assert all(content.count(f"| 参数{n} | {n * 7} |") == 1 for n in range(100))


def test_c10_empty_tables_give_no_chunk():
    html = "<table><tr><td></td><td> </td></tr></table>"
    blocks = (
        Block(kind="table", text=html),
        Block(kind="paragraph", text="正文"),
        Block(kind="table", text=""),
        Block(kind="table", text="<table></table>"),
    )
    for document in (
        parse_markdown(f"{html}\n\n正文\n\n<table></table>\n", document_id="c10"),
        Document(document_id="c10", blocks=blocks),
    ):
        assert [chunk.content for chunk in chunks_of(document)] == ["正文"]


def test_c12_a_header_over_the_budget_is_cut_once_and_not_repeated():
    header = [f"列{n}" for n in range(1, 61)]
    rows = [[f"{r}v{n}" for n in range(60)] for r in range(3)]
    lines = [header, ["---"] * 60, *rows]
    bodies = bodies_of("\n".join(f"| {' | '.join(cells)} |" for cells in lines), 64)

    cells = re.findall(r"[^\s|]+", " ".join(bodies))
    assert [cell for cell in cells if cell != "---"] == [*header, *rows[0], *rows[1], *rows[2]]


def test_rows_that_cannot_stand_with_a_wide_header_share_a_part_without_it():
    header = "| " + " | ".join(f"列名{n}" for n in range(12)) + " |"
    separator = "|" + "---|" * 12
    rows = [f"| {'值' * 14}{n} |" for n in range(6)]
    bodies = bodies_of("\n".join([header, separator, *rows]), count_tokens(header + separator) + 8)

    assert bodies[0].startswith(header)
    assert len(bodies) < 1 + len(rows)


def test_a_small_row_behind_a_wide_one_keeps_its_header():
    header = "| 名称一 | 名称二 | 名称三 | 名称四 |\n|---|---|---|---|"
    wide, small = f"| {'值' * 30} | 1 | 2 | 3 |", "| 小 | 1 | 2 | 3 |"
    budget = count_tokens(f"{wide}\n{small}")
    assert count_tokens(f"{header}\n{wide}") > budget >= count_tokens(f"{header}\n{small}")

    assert bodies_of(f"{header}\n{small}\n{wide}\n{small}", budget) == [
        f"{header}\n{small}",
        wide,
        f"{header}\n{small}",
    ]


def test_an_escaped_pipe_does_not_part_cells():
    cells = [f"左边的文字{n}\\|右边的文字{n}" for n in range(12)]
    budget = 2 * count_tokens(cells[0])  # a cell and a half
    bodies = bodies_of(f"| k |\n|---|\n| {' | '.join(cells)} |", budget)

    assert len(bodies) > 6
    assert all(sum(cell in body for body in bodies) == 1 for cell in cells)


def test_a_cell_that_is_cut_opens_no_fence():
    chunks = chunks_of(a_table(f"| k |\n|---|\n| ```{'字段说明' * 60} |"), 64)

    assert any("\\```字段" in chunk.content for chunk in chunks)


def test_parts_are_as_full_as_whole_rows_allow():
    header, rows = f"{HEADER}\n|---|---|", [f"| 参数{n} | 值 {n} |" for n in range(200)]
    bodies = bodies_of("\n".join([header, *rows]), 128)

    for body, following in pairwise(bodies):
        next_row = following.split("\n")[2]
        assert count_tokens(f"{body}\n{next_row}") > 128

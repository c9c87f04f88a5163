"""HTML tables, wherever they come from, become pipe tables."""

import pytest

from chunking.parsers import parse_markdown
from chunking.parsers.html import html_parts, html_tables


def rows_of(html):
    (table,) = html_tables(html)
    return table.text.split("\n")


def test_the_manual_with_html_tables_gives_each_of_them(data):
    """C09."""
    name = "en_milvus_configure_proxy_htmltables.md"
    blocks = parse_markdown((data / "markdown" / name).read_bytes(), document_id="d").blocks
    kinds = [block.kind for block in blocks]

    assert (kinds.count("table"), kinds.count("heading")) == (39, 40)
    assert not any("<t" in block.text for block in blocks)


def test_tables_without_words_are_empty_blocks():
    """C10."""
    document = parse_markdown(
        "<table><tr><td></td><td> </td></tr></table>\n\n正文\n\n<table></table>", document_id="d"
    )

    assert [block.text for block in document.blocks] == ["正文"]
    assert document.warnings == ("empty blocks skipped: 2",)


def test_a_label_over_rows_is_repeated_and_one_over_columns_is_not():
    html = (
        "<table><tr><th>区</th><th>a</th><th>b</th></tr>"
        "<tr><td rowspan='3'>华东区</td><td colspan=2>x</td></tr>"
        "<tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>"
    )

    assert rows_of(html) == [
        "| 区 | a | b |",
        "| --- | --- | --- |",
        "| 华东区 | x |  |",
        "| 华东区 | 1 | 2 |",
        "| 华东区 | 3 |  |",
    ]


@pytest.mark.parametrize(("head", "cell"), [("thead", "th"), ("tbody", "td")])
def test_a_second_header_row_begins_with_an_empty_cell(head, cell):
    html = (
        f"<table><{head}><tr><{cell} rowspan=2>机型</{cell}><{cell} colspan=2>上行</{cell}></tr>"
        f"<tr><{cell}>均值</{cell}><{cell}>峰值</{cell}></tr></{head}>"
        "<tr><td>XQ</td><td>1</td><td>2</td></tr></table>"
    )

    assert rows_of(html) == [
        "| 机型 | 上行 |  |",
        "| --- | --- | --- |",
        "|  | 均值 | 峰值 |",
        "| XQ | 1 | 2 |",
    ]


def test_cells_are_one_line_with_their_pipes_escaped():
    html = (
        "<table><tr><td><p>a|b</p><p>c</p></td><td>d<br>e &lt;x&gt;<!-- no --></td></tr>"
        "<tr><td><ul><li>安<b>装</b></li><li>f</li></ul></td>"
        "<td><img alt='pic' src='data:x'></td></tr></table>"
    )

    assert rows_of(html) == [r"| a\|b c | d e <x> |", "| --- | --- |", "| 安装 f | pic |"]


def test_a_table_in_a_cell_is_words_of_that_cell():
    html = (
        "<table><tr><td>a <table><tr><td>b</td><td>c</td></tr></table></td><td>d</td></tr></table>"
    )

    assert rows_of(html) == ["| a b c | d |", "| --- | --- |"]


def test_text_tables_and_captions_come_in_order():
    html = (
        "<p>vor</p><table><caption>表 <b>1</b></caption><tr><td>a</td></tr></table>zwischen"
        "<table><tr><td>b</td></tr></table>"
    )
    first, table, second, _ = html_parts(html)

    assert (first, second) == ("vor", "zwischen")
    assert (table.caption, table.text) == ("表 1", "| a |\n| --- |")


def test_blank_lines_do_not_tear_a_table_apart():
    markdown = (
        "# A\n\n<table>\n<tr><td>1</td></tr>\n\n    <tr><td>2\n\n```\n</td></tr>\n\n</table>\n\n"
        "# B\n\n"
        "<table><tr><td>\r\n\r\n3</td></tr>\r\n\r\n</table>\r\n\r\n中"
    )
    document = parse_markdown(markdown, document_id="d")

    assert [(b.kind, b.text) for b in document.blocks] == [
        ("heading", "A"),
        ("table", "| 1 |\n| --- |\n| 2 ``` |"),
        ("heading", "B"),
        ("table", "| 3 |\n| --- |"),
        ("paragraph", "中"),
    ]
    assert document.markdown[document.blocks[4].char_start] == "中"


def test_a_table_in_a_list_item_becomes_a_pipe_table_there():
    html = "   <table>\n   <tr><td>a</td></tr>\n   <tr><td>b</td></tr>\n   </table>\n"
    markdown = f"1. Schritt\n\n{html}\n2. w"
    (block,) = parse_markdown(markdown, document_id="d").blocks

    assert block.text == "1. Schritt\n\n   | a |\n   | --- |\n   | b |\n\n2. w"


@pytest.mark.parametrize("span", ["0", "-3", "x", "", "99999999999", "1.5"])
def test_rubbish_in_a_span_does_no_harm(span):
    html = (
        f"<table><tr><td rowspan='{span}' colspan='{span}'>a</td></tr><tr><td>b</td></tr></table>"
    )

    assert "".join(rows_of(html)).count("b") == 1


def test_what_html_would_turn_into_a_replacement_character_is_gone():
    html = "<table><tr><td>a\x00b&#0;c&#xD83D;d&#x110000;e&#20013;</td></tr></table>"

    assert rows_of(html)[0] == "| abcde中 |"


def test_spans_without_end_and_depth_without_end_end():
    wide = "<table>" + "<tr><td colspan=1000 rowspan=0>x</td></tr>" * 3_000 + "</table>"
    deep = "<div>" * 200_000 + "words"
    nested = "<table><tr><td>" * 20_000 + "words"

    assert len(html_tables(wide)[0].text) < 50_000_000
    assert html_parts(deep) == ["words"]
    assert "words" in html_tables(nested)[0].text

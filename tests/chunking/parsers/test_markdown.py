"""Markdown: CASES B and C as far as the parser decides them, and the rules of FORMATS 5."""

import pytest

from chunking.model import Block, Document
from chunking.parsers import parse_markdown, parse_text, with_blocks


def parsed(markdown, **options):
    return parse_markdown(markdown, document_id="d", **options)


def blocks_of(markdown):
    return parsed(markdown).blocks


def headings_of(markdown):
    return [(block.level, block.text) for block in blocks_of(markdown) if block.kind == "heading"]


def kinds_and_texts(markdown):
    return [(block.kind, block.text) for block in blocks_of(markdown)]


def test_every_offset_points_at_the_text_in_the_source(data):
    """Also behind Chinese, where the parser below counts in bytes."""
    verbatim = 0
    for path in sorted((data / "corpus" / "zh").rglob("*.md"))[:40]:
        document = parsed(path.read_bytes())
        for block in document.blocks:
            if block.char_start is not None:
                end = block.char_start + len(block.text)
                assert document.markdown[block.char_start : end] == block.text
                verbatim += 1

    assert verbatim > 1_000


HEADINGS = {
    "zh_rocketmq_Deployment.md": [
        "部署架构和设置步骤",
        "集群的设置",
        "1 单master模式",
        "2 多Master模式",
        "3 多Master多Slave模式-异步复制",
        "4 多Master多Slave模式-同步双写",
        "5 RocketMQ 5.0 自动主从切换",
    ],
    "en_milvus_integrate_with_cohere.md": [
        "Question Answering Using Milvus and Cohere",
        "Before you begin",
        "Parameters",
        "Prepare the dataset",
        "Create a collection",
        "Insert data",
        "Ask questions",
    ],
    "zh_apisix_upstream.md": ["描述", "配置参数", "使用示例", "Consumer", "Cookie", "Header"],
}


@pytest.mark.parametrize("name", HEADINGS)
def test_comment_lines_in_code_are_no_headings(data, name):
    """C14, C19."""
    headings = headings_of((data / "markdown" / name).read_bytes())

    assert [text for _, text in headings] == HEADINGS[name]


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
    assert parsed(markdown).warnings == ("empty headings skipped: 1",)


def test_a_heading_is_told_without_its_marks():
    markdown = (
        "# **强** `code` [link](u) $a$ ![图](x.png) <b>x</b>\n\n## 配置 {#config}\n\n## {name}"
    )

    assert headings_of(markdown) == [(1, "强 code link $a$ 图 x"), (2, "配置"), (2, "{name}")]


def test_a_fence_that_is_never_closed_is_code_to_the_end():
    """C16."""
    document = parsed("# A\n前文\n```python\nx = 1\n\n## 重要章节\n关键内容 末尾")

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


@pytest.mark.parametrize(
    ("fence", "language", "code"),
    [
        ("```\nx\n```", None, "x"),
        ("~~~~js title=a b\n```\ny\n~~~~", "js", "```\ny"),
        ("    a\n\n      b", None, "a\n\n  b"),
        ("   ```py\n   a\n     b\n   ```", "py", "a\n  b"),
        ("```py\n\n  a  \n\n\n```", "py", "\n  a  \n\n"),
    ],
)
def test_code_comes_without_its_fence_and_with_its_blanks(fence, language, code):
    (block,) = blocks_of(fence)

    assert (block.kind, block.language, block.text) == ("code", language, code)


def test_an_indented_list_is_brought_to_column_zero_and_keeps_depth_and_numbers():
    markdown = "text\n\n  7. a\n     - b\n\n       more\n  8. c\n"

    assert kinds_and_texts(markdown)[1] == ("list", "7. a\n   - b\n\n     more\n8. c")


def test_lists_of_markers_alone_are_empty():
    assert parsed("-\n\ntext\n\n1.\n").warnings == ("empty blocks skipped: 2",)


def test_line_ends_make_no_difference():
    """C26."""
    lines = "# 标题\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx\n\ny\n```\n- p\n- q"
    unix, dos, mac = (parsed(lines.replace("\n", end)) for end in ("\n", "\r\n", "\r"))

    assert [(b.kind, b.text) for b in unix.blocks] == [(b.kind, b.text) for b in dos.blocks]
    assert [(b.kind, b.text) for b in unix.blocks] == [(b.kind, b.text) for b in mac.blocks]
    assert not any("\r" in block.text for block in (*dos.blocks, *mac.blocks))
    assert dos.markdown[dos.blocks[0].char_start :].startswith("标题")


def test_a_file_of_mixed_line_ends_keeps_its_tables_whole(data):
    """C26."""
    blocks = blocks_of((data / "markdown" / "zh_rocketmq_best_practice_crlf.md").read_bytes())
    kinds = [block.kind for block in blocks]

    assert (kinds.count("heading"), kinds.count("table")) == (40, 6)
    assert sum(block.kind == "code" and block.language is not None for block in blocks) >= 9
    assert not any("\n\n" in block.text for block in blocks if block.kind == "table")


@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\x0b", "\x0c"])
def test_only_lf_crlf_and_cr_end_a_line(separator):
    assert headings_of(f"text{separator}# no heading") == []


def test_byte_order_marks_hide_no_heading():
    """C28: one at the head, and one where two files were joined."""
    document = parsed(b"\xef\xbb\xbf# \xe6\xa0\x87\xe9\xa2\x98\n\xe6\xad\xa3\xe6\x96\x87")
    joined = parsed("# 一\n文\n\n\ufeff# 二\n文")

    assert [b.text for b in document.blocks] == ["标题", "正文"]
    assert [b.text for b in joined.blocks] == ["一", "文", "二", "文"]
    assert joined.blocks[2].level == 1
    assert joined.markdown[joined.blocks[2].char_start] == "二"
    assert [b.text for b in parsed("a\ufeffb\n\n# c\ufeffd").blocks] == ["ab", "cd"]
    assert joined.warnings == ("byte order marks removed: 1",)


def test_half_of_a_surrogate_pair_is_removed_and_counted():
    """C30."""
    document = parsed("# 标 \ud83d 题\n\n结果 \ud83d 完成\n\n```\nx\ud83dy\n```\n\n\ud83d\ude00 笑")

    assert [b.text for b in document.blocks] == ["标  题", "结果  完成", "xy", "😀 笑"]
    assert document.warnings == ("lone surrogates removed: 3",)
    assert document.markdown[document.blocks[3].char_start :] == "😀 笑"


def test_control_characters_are_removed_everywhere():
    """C31."""
    document = parsed(
        '---\nk: "a\x00b"\n---\n# a\x00b\x07c\n\na\x00b\x07c', source="s\x00", file_title="t\x00"
    )

    assert [b.text for b in document.blocks] == ["abc", "abc"]
    assert (document.source, document.file_title, document.metadata) == ("s", "t", {"k": "ab"})
    assert document.warnings == ("control characters removed: 5",)


def test_front_matter_comes_off_and_gives_title_and_metadata():
    markdown = (
        '---\ntitle: "指南: A"\nversion: 1.10\ndate: 2024-01-02\ntags: [a, b]\n---\n# H\ntext'
    )
    document = parsed(markdown)

    assert document.file_title == "指南: A"
    assert document.metadata == {"version": "1.10", "date": "2024-01-02"}
    assert [b.text for b in document.blocks] == ["H", "text"]
    assert document.blocks[0].char_start == markdown.index("H\n")
    assert document.markdown == markdown
    assert parsed(markdown, file_title="Given").file_title == "Given"


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        ("---\ntext\n---\n# A", ["text", "A"]),  # a rule, then an underlined heading
        ("---\n# A\n---\n", ["A"]),
        ("---\nkey: [\n", ["key: ["]),  # never closed
        ("# A\n\n---\nkey: value\n---\n", ["A", "key: value"]),  # not at the head
    ],
)
def test_two_rules_are_no_front_matter(markdown, texts):
    document = parsed(markdown)

    assert [b.text for b in document.blocks] == texts
    assert document.metadata == {}


def test_front_matter_that_is_no_yaml_comes_off_with_a_warning():
    document = parsed("---\ntitle: a: b: [\n---\ntext")

    assert [b.text for b in document.blocks] == ["text"]
    assert document.warnings == ("unreadable front matter skipped: 1",)


def test_comments_are_no_text_and_other_html_is_its_words():
    markdown = (
        "<!--\n# licence\n\nwords -->\n\na <!-- gone --> b\n\n<div>\n<p>eins <b>zwei</b></p>\n"
        "<script>no()</script>\ndrei<br>vier\n</div>\n\n- x <!-- y -->\n  <!-- z -->\n- w"
    )

    assert kinds_and_texts(markdown) == [
        ("paragraph", "a  b"),
        ("paragraph", "eins zwei\ndrei\nvier"),
        ("list", "- x \n  - w"),
    ]


def test_pictures_that_stand_alone_are_blocks_and_others_stay_in_their_text():
    markdown = (
        '![拓扑](a.png "图 1")\n\n[![badge](b.svg)](u) ![](c.png)\n\ntext ![d](d.png)\n\n'
        "![](e.png)\n\n"
        '<img src="f.png" alt="F">\n\n![](g.png "nur Titel")'
    )

    assert [(b.kind, b.text, b.caption, b.image_uri) for b in blocks_of(markdown)] == [
        ("image", "拓扑", "图 1", "a.png"),
        ("image", "badge", None, "b.svg"),
        ("paragraph", "text ![d](d.png)", None, None),
        ("image", "F", None, "f.png"),
        ("image", "nur Titel", None, "g.png"),
    ]
    assert parsed(markdown).warnings == ("pictures without text skipped: 2",)


def test_base64_is_kept_nowhere_but_in_the_source():
    """C36."""
    uri = "data:image/png;base64," + "iVBORw0KGgo" * 20_000
    markdown = (
        f"![拓扑]({uri})\n\ntext ![内]({uri}) more\n\n- a ![b]({uri})\n\n"
        f'x <img alt="y" src="{uri}"> z\n\n<p>q <img src="{uri}"></p>\n\nraw {uri} end'
    )
    document = parsed(markdown)

    assert [(b.kind, b.text) for b in document.blocks] == [
        ("image", "拓扑"),
        ("paragraph", "text 内 more"),
        ("list", "- a b"),
        ("paragraph", "x y z"),
        ("paragraph", "q"),
        ("paragraph", "raw  end"),
    ]
    assert not any(block.image_uri for block in document.blocks)


def test_a_display_formula_alone_in_a_paragraph_is_a_formula():
    assert kinds_and_texts("$$\nx = 1\n$$\n\n$$a$$ and $$b$$\n\n$5 and $6") == [
        ("formula", "$$\nx = 1\n$$"),
        ("paragraph", "$$a$$ and $$b$$"),
        ("paragraph", "$5 and $6"),
    ]


def test_containers_quotations_and_footnotes_stay_as_written():
    markdown = ":::note\n\nwords\n\n:::\n\n> 引用\n> # no heading\n\n[^1]: a note"

    assert kinds_and_texts(markdown) == [
        ("paragraph", ":::note"),
        ("paragraph", "words"),
        ("paragraph", "> 引用\n> # no heading"),
        ("paragraph", "[^1]: a note"),
    ]


def test_words_that_look_like_the_definition_of_a_link_are_not_swallowed():
    markdown = "[注意]: 请先备份\n[a]: https://example.com\n\n[b]: ./c.md 'T'\nsee [a]"

    assert kinds_and_texts(markdown) == [
        ("paragraph", "[注意]: 请先备份"),
        ("paragraph", "see [a]"),
    ]


def test_all_words_of_such_a_definition_are_kept_whatever_lines_it_stands_in():
    markdown = (
        "[注意]: 请先\u2028备份\n\n[警告]:\n别关机\n"
        "[a]: https://example.com\r[note]: backups\n'by night'\n\n正文"
    )

    blocks = blocks_of(markdown)

    assert [block.text for block in blocks] == [
        "[注意]: 请先\u2028备份",
        "[警告]:\n别关机",
        "[note]: backups\n'by night'",
        "正文",
    ]
    for block in blocks:
        assert markdown.startswith(block.text, block.char_start)


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        ("\ufeff[注意]: 请先备份", ["[注意]: 请先备份"]),
        (r"[a\]b]: /url", []),
        (r"[a\]b]: words", [r"[a\]b]: words"]),
        ("[a\\\\]: words", ["[a\\\\]: words"]),
        ("]:", ["]:"]),
    ],
)
def test_labels_of_definitions_may_hold_brackets(markdown, texts):
    assert [block.text for block in blocks_of(markdown)] == texts


def test_what_closes_a_container_is_no_text_of_its_own():
    markdown = ":::note\n\n注意事项\n\n```sh\nls\n```\n\n:::\n\n::::\n\n::: 见下\n\na :::\n\n::"

    document = parsed(markdown)

    assert [block.text for block in document.blocks] == [
        ":::note",
        "注意事项",
        "ls",
        "::: 见下",
        "a :::",
        "::",
    ]
    assert document.warnings == ("ends of containers skipped: 2",)


def test_a_document_without_blocks_gets_them_and_one_with_blocks_keeps_its_own():
    own = Document(document_id="d", blocks=(), markdown="# A")
    bare = Document(document_id="d")

    assert with_blocks(own) is own
    assert with_blocks(bare) is bare
    assert with_blocks(Document(document_id="d", markdown="# A")).blocks == (
        Block(kind="heading", text="A", level=1, char_start=2),
    )
    assert with_blocks(Document(document_id="d", text="# A")).blocks == (
        Block(kind="paragraph", text="# A", char_start=0),
    )


def test_metadata_of_the_document_wins_over_front_matter():
    document = Document(document_id="d", markdown="---\na: 1\nb: 2\n---\n", metadata={"a": "own"})

    assert with_blocks(document).metadata == {"a": "own", "b": "2"}


@pytest.mark.parametrize("document_id", ["", None, 7, "\ud83d"])
@pytest.mark.parametrize("parse", [parse_markdown, parse_text])
def test_an_id_that_cannot_be_stored_is_refused_by_name(parse, document_id):
    with pytest.raises(ValueError, match="document_id="):
        parse("text", document_id=document_id)


@pytest.mark.parametrize("parse", [parse_markdown, parse_text])
def test_a_value_that_is_no_text_is_refused(parse):
    with pytest.raises(ValueError, match="must be text or bytes, not list"):
        parse(["text"], document_id="d")

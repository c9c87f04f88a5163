"""MinerU content lists: CASES G, C10, and the traps of FORMATS 3 and 4."""

import pytest

from chunking.parsers import ParseError, parse_mineru

SYNTHETIC = "SYNTHETIC_pdf_pipeline_content_list.json"


def parsed(value, **options):
    return parse_mineru(value, document_id="d", **options)


def read(data, name, **options):
    return parsed((data / "mineru" / name).read_bytes(), **options)


def kinds_and_texts(document):
    return [(block.kind, block.text) for block in document.blocks]


def test_captions_are_found_under_old_and_new_keys(data):
    """C72."""
    document = read(data, SYNTHETIC)
    (image,) = (block for block in document.blocks if block.kind == "image")
    (table,) = (block for block in document.blocks if block.kind == "table")

    assert (image.caption, image.text) == ("图 1 单队列结构", "注：虚线为控制面。")
    assert table.caption == "表 1 各机型实测吞吐 * 三次平均值。"
    assert "pictures without text skipped: 1" in document.warnings


def test_noise_is_counted_by_type(data):
    """C76."""
    document = read(data, SYNTHETIC)
    told = [block.text for block in document.blocks]

    assert not {"示例大学信息学院", "内部资料", "arXiv:0000.00000v1 示例", "1", "2"} & set(told)
    assert "1 本节符号与上一版报告一致。" in told
    assert [w for w in document.warnings if "picture" not in w] == [
        "header skipped: 2",
        "equations without text skipped: 1",
        "page_number skipped: 2",
        "empty blocks skipped: 2",
        "aside_text skipped: 1",
        "footer skipped: 1",
    ]
    without = read(data, SYNTHETIC, include_footnotes=False)
    assert "page_footnote skipped: 1" in without.warnings
    assert len(without.blocks) == len(document.blocks) - 1


def test_an_equation_has_one_pair_of_dollars(data):
    """C77."""
    (formula,) = (block for block in read(data, SYNTHETIC).blocks if block.kind == "formula")
    latex = r"L = \frac{\lambda}{\mu-\lambda} \tag{1}"

    assert formula.text == f"$$\n{latex}\n$$"
    assert kinds_and_texts(parsed([{"type": "equation", "text": latex}]))[0][1] == formula.text


def test_base64_is_in_no_field(data):
    """C78."""
    document = read(data, "word_sample_docx_content_list.json")

    assert "data:image" not in repr(document)
    assert max(len(block.text.encode()) for block in document.blocks) < 65_536


def test_a_list_torn_apart_is_one_list_again(data):
    """C80."""
    for name in ("xq_manual_zh_docx_content_list.json", "xq_manual_zh_docx_content_list_v2.json"):
        (block,) = (block for block in read(data, name).blocks if block.kind == "list")

        assert block.text == (
            "1. 下载安装包并校验 SHA-256；\n2. 解压到 /opt/xq；\n   - 保留原有权限\n"
            "   - 不要使用符号链接\n3. 执行初始化脚本。"
        )


def test_both_versions_tell_the_same(data):
    flat = read(data, "xq_manual_zh_docx_content_list.json")
    paged = read(data, "xq_manual_zh_docx_content_list_v2.json")

    assert flat.blocks == paged.blocks


def test_every_block_has_the_page_that_follows_its_index(data):
    """C82."""
    pages = [block.page for block in read(data, SYNTHETIC).blocks]

    assert set(pages) == {1, 2}
    assert pages == sorted(pages)


def test_a_list_that_begins_at_one_again_is_a_new_list():
    def items(*lines, **fields):
        return {"type": "list", "list_items": list(lines), "page_idx": 0} | fields

    document = parsed(
        [items("1. a"), items("2. b"), items("1. c"), items("[1] d", sub_type="ref_text")]
    )

    assert [block.text for block in document.blocks] == ["1. a\n2. b", "1. c", "[1] d"]


def test_headings_lose_their_stars_and_captions_are_no_headings():
    document = parsed(
        [
            {"type": "text", "text": "**1 安装**", "text_level": 2},
            {"type": "text", "text": "Listing 1: Program", "text_level": 2},
            {"type": "text", "text": "图 3 拓扑", "text_level": 1},
            {"type": "text", "text": "Table manners", "text_level": 1},
            {"type": "text", "text": "a **b** 5*3*2", "text_level": None},
        ]
    )

    assert [(b.kind, b.text, b.level) for b in document.blocks] == [
        ("heading", "1 安装", 2),
        ("paragraph", "Listing 1: Program", None),
        ("paragraph", "图 3 拓扑", None),
        ("heading", "Table manners", 1),
        ("paragraph", "a **b** 5*3*2", None),
    ]


def test_code_is_told_without_its_own_fence():
    document = parsed(
        [
            {"type": "code", "code_body": "~~~py x\n  a\n~~~", "code_caption": "C"},
            {"type": "code", "code_body": "b", "guess_lang": "c"},
        ]
    )

    assert [(b.text, b.language, b.caption) for b in document.blocks] == [
        ("  a", "py", "C"),
        ("b", "c", None),
    ]


def test_tables_may_be_html_text_or_nothing():
    """C10."""
    html = "\n\n<html><body><table><tr><td>a</td></tr></table></body></html>\n\n"
    document = parsed(
        [
            {"type": "table", "table_body": html},
            {"type": "table", "table_body": "plain words"},
            {"type": "table", "table_body": "", "table_caption": [""]},
            {"type": "table", "table_body": "<table></table>", "table_caption": ["only this"]},
            {"type": "table"},
        ]
    )

    assert kinds_and_texts(document) == [
        ("table", "| a |\n| --- |"),
        ("table", "plain words"),
        ("paragraph", "only this"),
    ]
    assert document.warnings == ("empty blocks skipped: 2",)


def test_a_number_that_ends_a_page_of_a_pdf_is_its_number(data):
    document = read(data, "code_and_formula_pdf_content_list.json")

    assert not any(block.text == "1" for block in document.blocks)
    assert "page_number skipped: 2" in document.warnings
    assert kinds_and_texts(parsed([{"type": "text", "text": "42"}])) == [("paragraph", "42")]


def test_paged_code_pictures_and_formulas_are_read():
    def spans(*words):
        return [{"type": "text", "content": word} for word in words]

    formula = {"type": "equation_inline", "content": "a^2"}
    document = parsed(
        [
            [
                {"type": "paragraph", "content": {"paragraph_content": [*spans("x "), formula]}},
                {
                    "type": "code",
                    "content": {
                        "code_content": spans("print()"),
                        "code_caption": spans("Listing"),
                        "code_language": "python",
                    },
                },
            ],
            [
                {
                    "type": "image",
                    "content": {
                        "image_source": {"path": "a.jpg"},
                        "image_caption": spans("Bild"),
                        "image_footnote": spans("Fuß"),
                    },
                    "bbox": [1, 2, 3, 4],
                },
                {"type": "page_number", "content": {"page_number_content": spans("2")}},
                {"type": "neu", "content": {"neu_content": spans("words")}},
                None,
            ],
        ]
    )

    assert [(b.kind, b.text, b.caption, b.page) for b in document.blocks] == [
        ("paragraph", "x $a^2$", None, 1),
        ("code", "print()", "Listing", 1),
        ("image", "Fuß", "Bild", 2),
        ("paragraph", "words", None, 2),
    ]
    assert (document.blocks[1].language, document.blocks[2].image_uri) == ("python", "a.jpg")
    assert document.blocks[2].bbox == (1.0, 2.0, 3.0, 4.0)


def test_unknown_types_are_text():
    assert kinds_and_texts(parsed([{"type": "seal", "text": "印章"}, {"text": "x"}, {}])) == [
        ("image", "印章"),
        ("paragraph", "x"),
    ]


@pytest.mark.parametrize("value", ["{}", {}, "null"])
def test_what_is_no_list_is_refused(value):
    with pytest.raises(ParseError, match="d: a content list is a list, not"):
        parsed(value)


def test_blocks_that_mineru_discarded_are_noise():
    document = parsed(
        [
            {"type": "discarded", "text": "机密 第 3 页", "page_idx": 0},
            {"type": "text", "text": "正文"},
        ]
    )

    assert kinds_and_texts(document) == [("paragraph", "正文")]
    assert document.warnings == ("discarded skipped: 1",)


@pytest.mark.parametrize("first", [None, {}, "", []])
def test_pages_behind_a_damaged_one_are_read(first):
    page = [{"type": "paragraph", "content": {"paragraph_content": [{"content": "正文"}]}}]

    (block,) = parsed([first, page]).blocks
    assert (block.text, block.page) == ("正文", 2)


def test_spans_of_v2_may_be_plain_strings_or_hold_spans():
    spans = [
        "设 ",
        {"type": "equation_inline", "content": "x"},
        {"content": [" 为", {"content": "常数"}]},
    ]
    page = [{"type": "paragraph", "content": {"paragraph_content": spans}}]

    assert parsed([page]).blocks[0].text == "设 $x$ 为常数"


@pytest.mark.parametrize(
    "written", ["x^2", "$x^2$", "$$x^2$$", "$$\n x^2\n$$", r"\(x^2\)", r"\[ x^2 \]", "$$x^2"]
)
def test_an_equation_is_fenced_once_whatever_marks_it_brings(written):
    assert parsed([{"type": "equation", "text": written}]).blocks[0].text == "$$\nx^2\n$$"


def test_two_formulas_in_one_equation_keep_their_dollars():
    (block,) = parsed([{"type": "equation", "text": "$a$ 和 $b$"}]).blocks

    assert block.text == "$$\n$a$ 和 $b$\n$$"


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), True])
def test_what_json_calls_a_number_is_no_word_unless_it_is_one(odd):
    document = parsed([{"type": "text", "text": odd}, {"type": "text", "text": 3.5}])

    assert [block.text for block in document.blocks] == ["3.5"]


def test_a_page_that_no_document_has_is_none():
    pages = [-1, 0, 6.0, 2**31, 1e30, "2"]
    document = parsed([{"type": "text", "text": "x", "page_idx": page} for page in pages])

    assert [block.page for block in document.blocks] == [None, 1, 7, None, None, None]

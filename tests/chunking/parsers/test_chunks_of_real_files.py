"""CASES C09, C10 and E to G to the end: what a real parser's file becomes once it is chunked."""

import pytest

from chunking import StructureAwareChunker
from chunking.parsers import parse_bytes, parse_markdown, parse_mineru, parse_unstructured

SYNTHETIC = "mineru/SYNTHETIC_pdf_pipeline_content_list.json"


@pytest.fixture
def chunks_of(data):
    def chunks_of(name, **options):
        document = parse_bytes((data / name).read_bytes(), name=name, document_id=name)
        return StructureAwareChunker(**options).chunk(document)

    return chunks_of


def of_kind(chunks, kind):
    return [chunk for chunk in chunks if chunk.kind == kind]


def test_each_part_of_a_long_html_table_has_its_head_and_whole_rows():
    """C09."""
    rows = "".join(f"<tr><td>项目{n}</td><td>{n * 7}</td></tr>" for n in range(100))
    html = f"<table><thead><tr><th>名称</th><th>数量</th></tr></thead><tbody>{rows}</tbody></table>"
    document = parse_markdown(html, document_id="d")
    chunks = StructureAwareChunker(max_tokens=96, overlap_tokens=0).chunk(document)

    assert len(chunks) > 5
    assert all("| 名称 | 数量 |\n| --- | --- |" in chunk.content for chunk in chunks)
    told = "\n".join(chunk.content for chunk in chunks)
    assert [told.count(f"| 项目{n} | {n * 7} |") for n in range(100)] == [1] * 100


def test_empty_tables_give_no_chunk():
    """C10."""
    document = parse_mineru(
        [
            {"type": "table", "table_body": "<table><tr><td></td><td> </td></tr></table>"},
            {"type": "text", "text": "正文"},
            {"type": "table", "table_body": ""},
            {"type": "table", "table_body": "<table></table>"},
        ],
        document_id="d",
    )

    assert [chunk.content for chunk in StructureAwareChunker().chunk(document)] == ["正文"]
    assert document.warnings == ("empty blocks skipped: 3",)


def test_captions_are_in_the_chunk_of_their_object_and_in_no_other(chunks_of):
    """C54, C62."""
    picture, table = chunks_of("docling/core_referenced_caption.json")
    assert ("Figure 1" in picture.content, "Figure 1" in table.content) == (True, False)
    assert ("Table 1" in picture.content, "Table 1" in table.content) == (False, True)

    chunks = chunks_of("docling/code_and_formula.json", overlap_tokens=0)
    (code,) = of_kind(chunks, "code")
    assert code.content.count("Listing 1: Simple JavaScript Program") == 1
    assert "```\nfunction" in code.content
    assert sum("Listing 1" in chunk.content for chunk in chunks) == 1
    assert sum("a 2 +8 = 12" in chunk.content for chunk in chunks) == 1
    assert {chunk.page for chunk in chunks} == {1, 2}


def test_no_chunk_has_two_slides(chunks_of):
    """C63."""
    chunks = chunks_of("docling/powerpoint_sample.pptx.json")

    assert {chunk.slide for chunk in chunks} == {1, 2, 3}
    assert not any("notes" in chunk.content for chunk in chunks)
    third = [chunk for chunk in chunks if chunk.slide == 3]
    assert all(chunk.heading_path == () for chunk in third)
    for chunk in chunks:
        box = chunk.bbox
        assert 0 <= box["x0"] < box["x1"] <= 12_192_000
        assert 0 <= box["y0"] < box["y1"] <= 6_858_000


def test_headings_stand_over_what_follows_them(chunks_of):
    """C65."""
    chunks = chunks_of("unstructured/xq_manual_zh.docx.json")
    (table,) = of_kind(chunks, "table")
    paths = {chunk.heading_path for chunk in chunks}

    assert table.heading_path == ("星桥边缘网关运维手册", "1 安装", "1.1 硬件要求")
    assert ("星桥边缘网关运维手册", "2 排障", "2.1.3 队列积压") in paths
    told = "\n".join(chunk.content for chunk in chunks)
    assert "内部版" not in told
    assert told.count("表 1 各型号硬件要求") == 1


def test_sheets_are_never_merged(chunks_of):
    """C67."""
    chunks = chunks_of("unstructured/stanley-cups.xlsx.json")

    assert [(c.sheet, c.heading_path, c.kind) for c in chunks] == [
        ("Stanley Cups", ("Stanley Cups",), "table"),
        ("Stanley Cups Since 67", ("Stanley Cups Since 67",), "table"),
    ]
    assert [chunk.content.count("\n| ") for chunk in chunks] == [5, 5]


def test_each_sentence_of_chunked_input_comes_once(chunks_of):
    """C69."""
    told = "\n".join(c.content for c in chunks_of("unstructured/xq_manual_zh.by_title_chunks.json"))

    for words in ["看日志", "XQ-10", "XQ-20", "保留原有权限", "xqctl init", "3.14 MB/s", "第 2 章"]:
        assert told.count(words) == 1


def test_layout_elements_give_no_chunk():
    """C70."""
    elements = [
        {"type": "PageBreak", "text": "", "element_id": "a", "metadata": {}},
        {"type": "Header", "text": "head", "metadata": {}},
        {"type": "PageNumber", "text": "3", "metadata": {}},
        {"type": "Brandneu", "text": "内容", "metadata": {"page_number": 2}},
        {"type": "Title", "text": None, "metadata": {}},
    ]
    (chunk,) = StructureAwareChunker().chunk(parse_unstructured(elements, document_id="d"))

    assert (chunk.content, chunk.page) == ("内容", 2)


def test_what_has_no_page_is_not_merged_with_what_has_one(chunks_of):
    """C71."""
    chunks = chunks_of("unstructured/handbook-1p.docx.basic-chunks.json")

    assert (chunks[-1].page, chunks[-1].content) == (0, "Copyright")
    assert {chunk.page for chunk in chunks[:-1]} == {1, 2}


def test_a_report_keeps_its_parts_apart(chunks_of):
    """C72, C74, C77, C82."""
    chunks = chunks_of(SYNTHETIC)
    (image,) = of_kind(chunks, "image")
    (table,) = of_kind(chunks, "table")
    (formula,) = (chunk for chunk in chunks if r"\frac" in chunk.content)

    assert "图 1 单队列结构" in image.content
    assert "注：虚线为控制面。" in image.content
    assert table.content.split("\n")[1].startswith("表 1 各机型实测吞吐")
    assert formula.content.count("$$") == 2
    assert formula.heading_path == ("1.1 符号",)
    assert max(len(chunk.heading_path) for chunk in chunks) <= 3
    assert {chunk.page for chunk in chunks} == {1, 2}


def test_no_row_carries_base64_or_is_too_large_to_store(chunks_of):
    """C78."""
    chunks = chunks_of("mineru/word_sample_docx_content_list.json")

    assert "data:image" not in repr(chunks)
    assert max(len(repr(chunk).encode()) for chunk in chunks) < 65_536


def test_a_list_torn_apart_is_in_one_chunk(chunks_of):
    """C80."""
    chunks = chunks_of("mineru/xq_manual_zh_docx_content_list.json")
    (chunk,) = (chunk for chunk in chunks if "1. 下载安装包" in chunk.content)

    places = [chunk.content.index(m) for m in ("1. 下载", "2. 解压", "- 保留", "- 不要", "3. 执行")]
    assert places == sorted(places)


def test_every_word_of_every_manual_is_in_a_chunk(data):
    """Rule 4, from the Markdown to the chunks."""
    chunker = StructureAwareChunker(overlap_tokens=0)
    for path in sorted((data / "markdown").glob("*.md")):
        document = parse_markdown(path.read_bytes(), document_id=path.name)
        told = "\n".join(chunk.content for chunk in chunker.chunk(document))
        for block in document.blocks:
            assert all(word in told for word in block.text.split()), (path.name, block)

"""Formats found out by name and content, and bytes that are not UTF-8."""

import json
import pickle

import pytest

from chunking.parsers import ParseError, parse_bytes, parse_file, parse_text


def kind_of(content, name):
    data = content if isinstance(content, bytes) else content.encode()
    document = parse_bytes(data, name=name, document_id="d")
    return [block.kind for block in document.blocks], document


@pytest.mark.parametrize(
    ("name", "content", "kinds"),
    [
        ("a.md", "# A", ["heading"]),
        ("a.MDX", "# A", ["heading"]),
        ("a.txt", "# A", ["paragraph"]),
        ("a", "# A", ["paragraph"]),
        ("a.txt", "[00:01] A: x\n[00:02] B: y", ["turn", "turn"]),
        ("a.txt", "[00:01] only one", ["paragraph"]),
        ("a.txt", "WEBVTT\n\n00:01.000 --> 00:02.000\nx", ["turn"]),
        ("a.txt", "[note] text", ["paragraph"]),
        (
            "a.json",
            '[{"type": "Title", "element_id": "e", "text": "T", "metadata": {}}]',
            ["heading"],
        ),
        ("a.json", '[{"type": "Text", "text": "T"}]', ["paragraph"]),
        ("a.json", '[null, {"type": "text", "text": "T", "page_idx": 0}]', ["paragraph"]),
        ("a.json", '[[{"type": "title", "content": {"title_content": []}}]]', []),
        ("x_content_list.json", "[]", []),
        ("a.json", '[{"speaker": "A", "text": "x"}]', ["turn"]),
        ("a.json", '{"segments": [{"text": "x"}]}', ["turn"]),
        ("a", '\ufeff {"schema_name": "DoclingDocument", "body": {}}', []),
    ],
)
def test_a_format_is_known_by_name_or_content(name, content, kinds):
    assert kind_of(content, name)[0] == kinds


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("a.json", "[]", "name its format"),
        ("a.json", "[1, 2]", "name its format"),
        ("a.json", "5", "JSON of a int is no document"),
        ("a.json", "{", "line 1 column 2"),
        ("a.json", '{"schema_name": "Other"}', "schema_name: 'Other'"),
        ("a.pdf", "%PDF\0", "binary"),
        ("a.html", "<p>", r"\.html is not read"),
    ],
)
def test_a_file_of_no_format_is_refused_with_its_name(name, content, match):
    with pytest.raises(ParseError, match=match) as caught:
        kind_of(content, name)

    assert caught.value.document == name
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), vars(copy)) == (str(caught.value), vars(caught.value))


def test_a_named_format_is_not_doubted():
    document = parse_bytes(b"# A", name="a.md", document_id="d", format="text")

    assert document.blocks[0].kind == "paragraph"
    with pytest.raises(ValueError, match="format='docx' must be one of auto, markdown"):
        parse_bytes(b"", name="a", document_id="d", format="docx")


def test_a_file_is_named_by_its_path_and_titled_by_itself_or_its_stem(tmp_path):
    titled, untitled = tmp_path / "a.md", tmp_path / "b 报告.md"
    titled.write_text("---\ntitle: Own\n---\ntext")
    untitled.write_text("text")

    assert parse_file(titled).file_title == "Own"
    assert parse_file(titled, file_title="Given", document_id="x").file_title == "Given"
    document = parse_file(str(untitled))
    assert (document.file_title, document.source) == ("b 报告", untitled.as_posix())
    assert document.document_id == untitled.as_posix()
    with pytest.raises(FileNotFoundError):
        parse_file(tmp_path / "none.md")


@pytest.mark.parametrize(
    ("content", "text", "warnings"),
    [
        ("汉 é".encode("utf-8-sig"), "汉 é", ()),
        ("汉 é".encode("utf-16"), "汉 é", ()),
        ("汉 é".encode("utf-32"), "汉 é", ()),
        (
            "这是一个用国标编码的文件，".encode("gb18030"),
            "这是一个用国标编码的文件，",
            ("decoded as gb18030: 1",),
        ),
        ("Über café".encode("cp1252"), "Über café", ("decoded as windows-1252: 1",)),
        (("汉字" * 50).encode() + b"\xe6", "汉字" * 50, ("undecodable bytes removed: 1",)),
        ("a汉".encode("utf-16") + b"\x00", "a汉", ("undecodable bytes removed: 1",)),
    ],
)
def test_bytes_are_decoded_and_never_become_replacement_characters(content, text, warnings):
    document = parse_text(content, document_id="d")

    assert [block.text for block in document.blocks] == [text]
    assert document.warnings == warnings


def test_paragraphs_of_plain_text_are_parted_by_blank_lines():
    text = "　　一\n二\r\n \t\r\n\r\n三\x0b四\r\r五\n\n\u200b\n\n# 六\n"
    document = parse_text(text, document_id="d")

    assert [block.text for block in document.blocks] == ["　　一\n二", "三 四", "五", "# 六"]
    assert document.blocks[3].char_start == text.index("# 六")


def test_json_of_large_integers_is_not_an_accident():
    with pytest.raises(ParseError, match="not JSON"):
        kind_of("[" + "9" * 10_000 + "]", "a.json")


def test_json_with_a_lone_surrogate_is_read():
    """C30."""
    content = json.dumps([{"type": "Text", "text": "a\ud83db", "metadata": {}}])

    assert kind_of(content, "a.json")[1].blocks[0].text == "ab"

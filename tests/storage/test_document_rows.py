"""One row made into a document: what stands in, what wins, what is mended and told."""

import json

import pyarrow as pa
import pytest

from chunking.model import Block
from storage.document_rows import document_of
from storage.local_objects import LocalObjectStore
from tests.storage.parquet_files import BLOCK, put, read, read_one


@pytest.fixture
def objects(tmp_path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "store")


# Nulls (CASES C114)


def test_null_lists_and_null_items_disturb_nobody(objects):
    cells = [
        None,
        [],
        [None],
        [{"kind": None, "text": None}],
        [None, {"kind": "code", "text": "x"}],
    ]
    table = pa.table({"document_id": list("abcde"), "blocks": pa.array(cells, pa.list_(BLOCK))})

    found = read(objects, put(objects, table))

    assert [d.blocks for d in found] == [
        None,
        (),
        (),
        (Block(kind="paragraph", text=""),),
        (Block(kind="code", text="x"),),
    ]


# What stands in, and what wins


def test_blocks_win_and_markdown_is_kept_for_offsets(objects):
    found = read_one(
        objects, blocks=[{"kind": "code", "text": "x"}], markdown="# other", text="third"
    )

    assert found.blocks == (Block(kind="code", text="x"),)
    assert (found.markdown, found.text) == ("# other", "third")


@pytest.mark.parametrize("empty", [[], [None], [{"kind": "table", "text": " \u200b"}]])
def test_blocks_that_say_nothing_do_not_hide_the_markdown(objects, empty):
    found = read_one(objects, blocks=pa.array([empty], pa.list_(BLOCK))[0], markdown="# A")

    assert (found.blocks, found.markdown) == (None, "# A")


def test_blocks_that_say_something_in_a_caption_win():
    block = {"kind": "image", "text": "", "caption": "图 1"}
    row = {"document_id": "d", "blocks": [block], "markdown": "# A"}

    found = document_of(row, key="k", number=0)

    assert found.blocks == (Block(kind="image", text="", caption="图 1"),)


@pytest.mark.parametrize("blank", ["", " \n", "\ufeff\u200b"])
def test_blank_markdown_does_not_hide_the_text(objects, blank):
    found = read_one(objects, markdown=blank, text="正文。")

    assert (found.markdown, found.text) == (None, "正文。")


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("dir/Guide v1.2.md", "Guide v1.2"),
        ("C:\\docs\\手册.docx", "手册"),
        ("https://example.org/a/%E6%8A%A5%E5%91%8A.html?x=a/b.c#d/e", "报告"),
        ("https://example.org", "报告 1"),
        ("s3://bucket/k/a+b.md", "a+b"),
        (None, "报告 1"),
        ("", "报告 1"),
    ],
)
def test_a_missing_title_is_the_stem_of_the_source_or_of_the_key(objects, source, title):
    for missing in (None, "", "  "):
        found = read_one(objects, text="x", source=source, file_title=missing)
        assert found.file_title == title
        assert found.source == (source or "in/报告 1.parquet")


def test_a_missing_source_is_the_key_letter_for_letter(objects):
    for key in (
        "in/a%2Bb.parquet",
        "in/a+b 100%.parquet",
        "in/e\u0301.parquet",
        "in/\u00e9.parquet",
    ):
        info = put(objects, pa.table({"document_id": ["d"], "text": ["x"]}), key)
        (found,) = read(objects, info)
        assert found.source == key


# Mended, and told


def test_control_characters_and_half_pairs_are_taken_out_and_counted(objects):
    """CASES C30, C31: in names, metadata and blocks; markdown and text are their parser's."""
    blocks = json.dumps(
        [{"kind": "heading", "text": "结果 \ud83d 完成"}, {"kind": "code", "text": "a\0b\x07c"}]
    )
    found = read_one(
        objects,
        blocks=blocks,
        source="dir\0/x.md",
        item_name="i\x07",
        metadata=json.dumps({"k\0": "v\ud83d", "list": ["\0"]}),
        text="a\0\r\n",
    )

    assert [block.text for block in found.blocks] == ["结果  完成", "abc"]
    assert (found.source, found.item_name) == ("dir/x.md", "i")
    assert found.metadata == {"k": "v", "list": [""]}
    assert found.text == "a\0\r\n"
    assert set(found.warnings) == {"control characters removed: 5", "lone surrogates removed: 2"}


def test_an_unknown_kind_of_block_is_read_as_a_paragraph(objects):
    found = read_one(
        objects, blocks=[{"kind": "sidebar", "text": "x"}, {"kind": "sidebar", "text": "y"}]
    )

    assert [block.kind for block in found.blocks] == ["paragraph", "paragraph"]
    assert found.warnings == ("block kind sidebar read as paragraph: 2",)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("page", "two"),
        ("page", float("inf")),
        ("page", 0),
        ("page", 1e30),
        ("page", 2**40),
        ("level", 10**20),
        ("level", -1),
        ("slide", -5),
        ("char_start", -1),
        ("char_start", 2**70),
        ("bbox", [1, 2]),
        ("bbox", {"x0": 1}),
        ("heading_path", "A > B"),
        ("ts_start", []),
    ],
)
def test_a_field_that_makes_no_sense_is_left_out(field, value):
    row = {"document_id": "d", "blocks": [{"kind": "code", "text": "x", field: value}]}

    found = document_of(row, key="k", number=0)

    assert found.blocks == (Block(kind="code", text="x"),)
    assert found.warnings == (f"unusable {field} left out: 1",)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("page", 3.0, 3),
        ("page", float("nan"), None),
        ("page", "3", 3),
        ("bbox", {"x0": 1, "y0": 2, "x1": 3, "y1": 4}, (1.0, 2.0, 3.0, 4.0)),
        ("heading_path", ["a", None, "b"], ("a", "b")),
        ("heading_path", [], ()),
        ("ts_end", 3, 3.0),
    ],
)
def test_a_field_is_read_in_every_reasonable_form(field, value, expected):
    row = {"document_id": "d", "blocks": [{"kind": "code", "text": "x", field: value}]}

    found = document_of(row, key="k", number=0)

    assert found.blocks == (Block(kind="code", text="x", **{field: expected}),)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("cell", "metadata", "warnings"),
    [
        ('{"a": [1, NaN, 1e999], "b": {"c": null}}', {"a": [1, None, None], "b": {"c": None}}, ()),
        ("", {}, ()),
        ("null", {"metadata": "null"}, ("metadata that is no JSON object kept as text: 1",)),
        ("[1]", {"metadata": "[1]"}, ("metadata that is no JSON object kept as text: 1",)),
        ("{oops", {"metadata": "{oops"}, ("metadata that is no JSON object kept as text: 1",)),
        (
            "[" * 10_000,
            {"metadata": "[" * 10_000},
            ("metadata that is no JSON object kept as text: 1",),
        ),
    ],
    ids=["numbers", "blank", "null", "list", "broken", "deep"],
)
def test_metadata_of_a_json_string(objects, cell, metadata, warnings):
    found = read_one(objects, text="x", metadata=cell)

    assert (found.metadata, found.warnings) == (metadata, warnings)


def test_metadata_too_deep_to_follow_is_left_out():
    row = {"document_id": "d", "metadata": '{"a":' + "[" * 700 + "]" * 700 + "}"}

    found = document_of(row, key="k", number=0)

    assert found.metadata == {}
    assert found.warnings == ("metadata nested too deeply left out: 1",)

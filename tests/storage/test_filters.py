"""Filter expressions: values that look like syntax, and the part that this process evaluates."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import SettingError
from storage.memory_filters import matches, parse
from storage.milvus_filters import any_of, literal

texts = st.text(st.characters(exclude_categories=["Cs"])) | st.text("\\\"'\n\r\t%_{}汉 ")
ROW = {"kind": "table", "page": 3, "heading_path": ["A", "B"], "metadata": {"lang": "zh"}}


@given(texts)
def test_a_literal_means_its_value_and_nothing_more(value):
    written = literal(value)

    assert "\n" not in written
    assert "\r" not in written
    # Python reads these five escapes as Milvus does; control characters it takes as they are.
    assert ast.literal_eval(written.replace("\x00", "\\x00")) == value


@given(texts, texts)
def test_only_the_value_itself_matches(value, other):
    condition = parse(any_of("kind", [value]).replace("\x00", "\\x00"))

    assert matches(condition, {"kind": value})
    assert matches(condition, {"kind": other}) == (other == value)


def test_an_expression_holds_all_its_values():
    assert any_of("document_id", ["a", 'b"', "c\\"]) == r'document_id in ["a", "b\"", "c\\"]'


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("", True),
        ('kind == "table" and page >= 3', True),
        ('kind == "table" and page > 3', False),
        ('kind != "table" or page in [1, 3]', True),
        ('not (kind == "table")', False),
        ("page not in [3]", False),
        ("page > -1", True),
        ('array_contains(heading_path, "B")', True),
        ('array_contains(heading_path, "C")', False),
        ('metadata["lang"] == "zh"', True),
        ('metadata["missing"] == "zh"', False),
    ],
)
def test_the_store_in_this_process_understands_plain_conditions(expression, expected):
    assert matches(parse(expression), ROW) is expected


@pytest.mark.parametrize(
    "expression", ["page ==", "no_such == 1", 'page < "a"', "__import__('os')", "1 < page < 4"]
)
def test_it_refuses_what_it_does_not_understand(expression):
    with pytest.raises(SettingError, match="filter"):
        matches(parse(expression), ROW)

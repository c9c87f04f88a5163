"""Filter expressions: values that look like syntax, and the part that this process evaluates."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import SettingError
from storage.memory_filters import matches, parse
from storage.milvus_filters import all_of, any_of, equals, literal

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


@pytest.mark.parametrize(
    ("field", "value", "expression"),
    [
        ("title", 'a" or title != "', r'title == "a\" or title != \""'),
        ("page", "3", "page == 3"),
        ("ts_start", "1.5", "ts_start == 1.5"),
        ("heading_path", "A > B", 'array_contains(heading_path, "A > B")'),
        ("metadata.lang", "zh", 'metadata["lang"] == "zh"'),
        ("metadata.a.b", "x", 'metadata["a.b"] == "x"'),
        ('metadata.a"]', "x", r'metadata["a\"]"] == "x"'),
        ("metadata.year", "2024", 'metadata["year"] == "2024" or metadata["year"] == 2024'),
        ("metadata.ok", "true", 'metadata["ok"] == "true" or metadata["ok"] == true'),
        ("metadata.code", "007", 'metadata["code"] == "007"'),
        ("metadata.f", "1e999", 'metadata["f"] == "1e999"'),
    ],
)
def test_what_a_person_typed_becomes_the_condition_of_its_field(field, value, expression):
    assert equals(field, value) == expression


@given(st.sampled_from(["title", "item_name", "source"]), texts)
def test_no_value_breaks_out_of_its_condition(field, value):
    condition = parse(equals(field, value).replace("\x00", "\\x00"))

    assert isinstance(condition, ast.Compare)
    assert matches(condition, {field: value})


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("titel", "x", "'title'"),
        ("metadata.", "x", "metadata.KEY"),
        ("page", "3 or 1 == 1", "whole number"),
        ("page", "9" * 19, "whole number"),
        ("ts_end", "nan", "number"),
        ("dense", "1", "dense"),
    ],
)
def test_a_condition_that_cannot_be_is_refused_by_name(field, value, told):
    with pytest.raises(ValueError, match=told):
        equals(field, value)


def test_conditions_joined_hold_all_of_them():
    assert all_of(["", "a == 1"]) == "a == 1"
    assert all_of(["a == 1 or b == 2", " ", "c == 3"]) == "(a == 1 or b == 2) and (c == 3)"
    assert all_of([]) == ""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunking.text import clean_counted, clean_text, is_blank


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("a\n\rb", "a\n\nb"),
        ("a\x00b\x07c", "abc"),
        ("end\x0cNext\x0bline\x85more", "end Next line more"),
        ("\ufeff# 标题\n\ufeff# 二", "# 标题\n# 二"),
        ("结果 \ud83d 完成", "结果  完成"),
        ("\ud83d\ude00 and \U0001f600", "\U0001f600 and \U0001f600"),
        ("\ude00\ud83d", ""),
        ("tab\tand <|endoftext|> stay", "tab\tand <|endoftext|> stay"),
        ("\ufffd was there", "\ufffd was there"),
    ],
)
def test_what_no_store_can_carry_goes_and_the_rest_stays(dirty, clean):
    assert clean_text(dirty) == clean


def test_what_was_taken_out_is_counted_by_name():
    text, removed = clean_counted("\ufeffa\x00b\x0c\ud83dc\r\n")

    assert text == "ab c\n"
    assert removed == Counter(
        {"control characters": 2, "byte order marks": 1, "lone surrogates": 1}
    )


def test_clean_text_is_given_back_as_it_is_and_counts_nothing():
    text = "表 1\n\t| a |"

    assert clean_text(text) is text
    assert clean_counted(text) == (text, Counter())


@given(st.text())
def test_cleaned_text_can_be_sent_anywhere_and_is_clean(text):
    clean = clean_text(text)

    clean.encode()
    assert clean_text(clean) == clean
    assert not set("\x00\r\x0c\ufeff") & set(clean)


@pytest.mark.parametrize("text", ["", "\u3000\u3000", "\u200b", "\ufeff", "\n\t ", "\u2060\u00ad"])
def test_what_nobody_can_see_is_blank(text):
    assert is_blank(text)


@pytest.mark.parametrize("text", ["。", " x", "\u200b正文", "😀", "\u0301"])
def test_what_can_be_seen_is_not_blank(text):
    assert not is_blank(text)

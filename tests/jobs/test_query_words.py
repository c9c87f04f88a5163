"""What of a query is looked for, and where it stands in a text."""

import pytest

from jobs.searching.words import best_window, find_words, query_words


def found(query, text):
    return [text[start:end] for start, end in find_words(query_words(query), text)]


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("How do I restart the gateway?", "The Gateway: restart it.", ["Gateway", "restart"]),
        ("升级失败了怎样回滚？", "升级没有失败，不必回滚。", ["升级", "失败", "回滚"]),
        ("告警代码 A17 的含义", "A17 与 A170：代码的含义", ["A17", "代码", "含义"]),
        ("RS-485 波特率", "rs-485：波特率 9600", ["rs-485", "波特率"]),
        ("client_id", "`client_id` is no client", ["client_id"]),
        ("which alarm is it", "alarms and alarming", ["alarms"]),
        ("旧版本", "回到旧版本，版本号", ["旧版本", "版本"]),
        ("cat", "category", []),
        ("100 of them", "100, 1000", ["100"]),
        ("什么", "说什么", ["什么"]),
        ("(.*)", "(.*)", []),
        ("?", "?", []),
    ],
)
def test_words_of_both_languages_are_found_whole(query, text, expected):
    assert found(query, text) == expected


def test_the_window_shows_where_most_was_found():
    text = "kite " + "x" * 500 + " kite red kite " + "y" * 500

    start, end = best_window(find_words(("kite", "red"), text), len(text), 100)

    assert end - start == 100
    assert "kite red kite" in text[start:end]


@pytest.mark.parametrize(("size", "window"), [(50, (0, 50)), (500, (0, 100))])
def test_without_a_find_the_window_is_the_start(size, window):
    assert best_window([], size, 100) == window


def test_a_find_at_the_very_end_is_shown():
    assert best_window([(496, 500)], 500, 100) == (400, 500)

"""Damage real files at random: a parser gives a sound document or its own error, and ends."""

import copy
import json
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chunking.model import BLOCK_KINDS
from chunking.parsers import (
    ParseError,
    parse_bytes,
    parse_dialogue,
    parse_docling,
    parse_markdown,
    parse_mineru,
    parse_text,
    parse_unstructured,
)
from chunking.text import is_blank

DATA = Path(__file__).parents[3].parent / "shared" / "data"
PARSERS = {"docling": parse_docling, "mineru": parse_mineru, "unstructured": parse_unstructured}
JSON_FILES = sorted(str(p.relative_to(DATA)) for f in PARSERS for p in (DATA / f).glob("*.json"))
TEXT_FILES = sorted(str(p.relative_to(DATA)) for p in (DATA / "markdown").glob("*"))

OTHERS = [
    None,
    True,
    0,
    -1,
    10**30,
    1e308,
    float("nan"),
    "",
    "x",
    "\ud83d",
    "a\x00\r\n\ufeff",
    "#/texts/0",
    "#/body",
    "data:image/png;base64,AAAA",
    "<table><tr><td rowspan=9>1<td></table>",
    [],
    [[]],
    [None, "x", 3],
    {},
    {"$ref": "#/body"},
    {"text": {"text": "x"}},
]


def places(value, path=()):
    """Every place in a JSON value, as the way to it."""
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    for step, inner in steps:
        yield (*path, step)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, step))


def do_damage(value, path, damage):
    """Drop one place, empty it, double it, or put another type there."""
    around = value
    for step in path[:-1]:
        if not _has(around, step):
            return  # an earlier damage took the place away
        around = around[step]
    last = path[-1]
    if not _has(around, last):
        return
    if damage == "drop":
        del around[last]
    elif damage == "empty":
        around[last] = type(around[last])()
    elif damage == "double" and isinstance(around, list):
        around.append(around[last])
    else:
        around[last] = copy.deepcopy(damage)


def _has(around, step):
    if isinstance(around, list):
        return isinstance(step, int) and step < len(around)
    return isinstance(around, dict) and step in around


def assert_sound(document):
    for block in document.blocks:
        assert block.kind in BLOCK_KINDS
        assert not is_blank(block.text)
        assert block.page is None or block.page > 0
        assert (block.level is not None) == (block.kind == "heading")
        assert block.bbox is None or (
            block.bbox[0] < block.bbox[2] and block.bbox[1] < block.bbox[3]
        )
        for words in (block.text, block.caption, block.speaker, block.language, block.sheet):
            (words or "").encode()
            assert not set(words or "") & set("\r\x00\ufeff")
            assert "data:image/png;base64," not in (words or "")
        assert "data:" not in (block.image_uri or "")


@cache
def paths_of(name):
    return list(places(json.loads((DATA / name).read_text())))


def parse_or_refuse(parse, value, **options):
    with suppress(ParseError):
        assert_sound(parse(value, **options))


@pytest.mark.parametrize("name", JSON_FILES)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
def test_damaged_json_gives_a_sound_document_or_our_own_error(data, name, draw):
    value = json.loads((data / name).read_text())
    damages = st.sampled_from([*["drop", "empty", "double"] * 5, *OTHERS])
    for path, damage in draw.draw(
        st.lists(st.tuples(st.sampled_from(paths_of(name)), damages), min_size=1, max_size=4)
    ):
        do_damage(value, path, damage)

    parse_or_refuse(PARSERS[name.split("/")[0]], value, document_id="d")


STRUCTURE = (
    "\n|\n\n|\r|```|~~~|---|#|# |- |1. |> |<table>|</table>|<!--|-->|<td|$$|[a]: b|\t|    |{"
)
PIECES = st.sampled_from(
    [
        *STRUCTURE.split("|"),
        "|",
        "![a](data:image/png;base64,AA)",
        "\ufeff",
        "\x00",
        "\ud83d",
        "龘",
        "😀",
        "[00:00:01] ",
        "<v A>",
        '{"text": 1}',
        "\x85",
        "\u2028",
        "\\",
        "\n[a]: b",
        "]: ",
    ]
)


@pytest.mark.parametrize("name", TEXT_FILES)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
def test_damaged_text_gives_a_sound_document_or_our_own_error(data, name, draw):
    text = (data / name).read_bytes().decode()
    for _ in range(draw.draw(st.integers(1, 6))):
        place = draw.draw(st.integers(0, len(text)))
        gone = draw.draw(st.sampled_from([0, 0, 1, 30]))
        text = text[:place] + draw.draw(PIECES) + text[place + gone :]

    for parse in (parse_markdown, parse_dialogue, parse_text):
        parse_or_refuse(parse, text, document_id="d")


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=200), st.sampled_from(["a.md", "a.txt", "a.json", "a.vtt", "a.jsonl", "a"])
)
def test_any_bytes_give_a_sound_document_or_our_own_error(content, name):
    parse_or_refuse(parse_bytes, content, name=name, document_id="d")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "metadata", "children", "body", "page_idx", "content"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(json_values, st.sampled_from([*PARSERS.values(), parse_dialogue]))
def test_any_json_gives_a_sound_document_or_our_own_error(value, parse):
    if isinstance(value, dict | list):
        parse_or_refuse(parse, value, document_id="d")


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join))
def test_any_markdown_keeps_its_offsets(text):
    document = parse_markdown(text, document_id="d")

    assert_sound(document)
    for block in document.blocks:
        if block.char_start is not None:
            assert document.markdown[block.char_start :].startswith(block.text)

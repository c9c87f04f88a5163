"""What must hold for any document with any strategy."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chunking import Block, Document
from tests.chunking.strategies.strategies import ALL, PLAIN, make
from tests.chunking.test_properties import DOCUMENTS
from tests.rules import chunk_by_the_rules

FURTHER = [name for name in ALL if name != "structure"]
NO_OVERLAP = {
    "fixed": {"overlap": 0},
    "sentence": {"overlap": 0},
    "recursive": {"overlap": 0},
    "markdown": {"overlap_ratio": 0},
    "title": {"overlap": 0},
    "dialogue": {"overlap_turns": 0},
    "semantic": {"overlap": 0},
    "hybrid": {"overlap_ratio": 0},
}
SMALL = {
    "fixed": {"size": 60, "overlap": 20},
    "sentence": {"size": 60, "overlap": 20},
    "recursive": {"size": 60, "overlap": 20},
    "markdown": {"size": 60, "min_chunk": 30, "overlap_ratio": 0.3},
    "title": {"max_size": 90, "size": 60, "min_size": 40, "overlap": 20},
    "dialogue": {"max_turns": 3, "max_chars": 60, "overlap_turns": 1},
    "semantic": {"min_chars": 20, "max_chars": 60, "overlap": 20},
    "topic": {"min_chars": 20, "max_chars": 60, "k_topics": 2},
    "parent_child": {"parent_size": 90, "child_size": 40},
    "llm": {"min_size": 20, "max_size": 60, "request_size": 120},
    "hybrid": {"max_coarse_len": 90, "target_len": 60, "min_chunk_len": 30, "overlap_ratio": 0.3},
}
MAXIMA = st.sampled_from([16, 20, 32, 64, 512, 8_191])
UNITS = st.sampled_from(["chars", "tokens"])

FENCED_CELL = Document(
    document_id="any",
    blocks=(Block(kind="table", text="| ```py | b |\n|---|---|\n| ``` | x |\n| 单位 | ~~~ |"),),
)
NUMBERED_FENCE = Document(
    document_id="any",
    blocks=(
        Block(kind="heading", text="𑑀"),
        Block(kind="list", text="7. ```1A\n12345678. ```2B\n   x"),
        Block(kind="table", text="8. ```3C"),
    ),
)
CAPTIONED_CODE = Document(
    document_id="any",
    blocks=(
        Block(kind="code", text=" x = 1\n```\ny", caption="清单 1 ```", language="py",
              heading_path=("```", "word")),
        Block(kind="code", text="", caption="清单 2"),
        Block(kind="code", text="0000", caption=f"```py\n{'word' * 6}```py\n"),
        Block(kind="code", text="", caption=f"{'word' * 30}。```word`"),
        Block(kind="code", text="0A", caption="0:;1", language="0`0", heading_path=("0",)),
    ),
)  # fmt: skip
FENCED_ITEM = Document(
    document_id="any",
    blocks=(
        Block(kind="table", text="- ```" + "supercalifragilistic" * 5),
        Block(kind="turn", text="word" * 8, speaker="- ~~~word"),
    ),
)
NAMES_WITH_LINES = Document(
    document_id="any",
    blocks=tuple(
        Block(kind="turn", text="说" * 70, speaker=name)
        for name in ("\n0", "张\n三@", "\n", "李四")
    ),
)

few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def hard_cases(test):
    """What was found once is tried each time."""
    hard = (FENCED_CELL, NUMBERED_FENCE, CAPTIONED_CODE, FENCED_ITEM, NAMES_WITH_LINES)
    for document in hard:
        for unit in ("chars", "tokens"):
            test = example(document, 16, unit)(test)
    return test


def check(name, document, max_tokens, *, repeats, **options):
    document = replace(document, file_title="")  # else it is the prefix of `title`
    chunker = make(name, max_tokens=max_tokens, **options)
    return chunk_by_the_rules(
        chunker,
        document,
        max_tokens=max_tokens,
        overlap=repeats,
        mixed=True,
        fences=name not in PLAIN,
    )


@few
@pytest.mark.parametrize("name", FURTHER)
@given(DOCUMENTS, MAXIMA, UNITS)
@hard_cases
def test_nothing_is_lost_or_doubled_without_overlap(name, document, max_tokens, unit):
    options = SMALL[name] | NO_OVERLAP.get(name, {})

    check(name, document, max_tokens, unit=unit, repeats=False, **options)


@few
@pytest.mark.parametrize("name", FURTHER)
@given(DOCUMENTS, MAXIMA, UNITS)
@hard_cases
def test_the_rules_hold_with_overlap(name, document, max_tokens, unit):
    check(name, document, max_tokens, unit=unit, repeats=True, **SMALL[name])


@few
@pytest.mark.parametrize("name", FURTHER)
@given(DOCUMENTS)
def test_the_rules_hold_with_the_defaults(name, document):
    check(name, document, 8_191, repeats=True)

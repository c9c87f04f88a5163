"""What docs/strategies.md and docs/adding-a-strategy.md say is so."""

import inspect
import re
import sys
import types
from pathlib import Path

import pytest

from chunking import Document
from chunking.strategies import FURTHER, STRATEGIES
from chunking.strategies.chunker import StrategyChunker, needs
from chunking.strategies.options import Options
from tests.rules import chunk_by_the_rules

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "strategies.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def test_every_strategy_has_a_section_and_a_line_in_the_table():
    assert list(SECTIONS)[-len(STRATEGIES) :] == list(STRATEGIES)
    assert re.findall(r"^\| \[`(\w+)`\]", PAGE, re.MULTILINE) == list(STRATEGIES)


@pytest.mark.parametrize("name", FURTHER)
def test_every_option_is_told_with_its_default(name):
    strategy = FURTHER[name]
    for option, parameter in inspect.signature(strategy).parameters.items():
        default = parameter.default
        if option not in needs(strategy) and not isinstance(default, tuple):
            assert re.search(rf"^\| `{option}` \| {default} \|", SECTIONS[name], re.MULTILINE), (
                option
            )


def test_shared_options_are_told_with_their_defaults():
    for option, parameter in inspect.signature(Options).parameters.items():
        told = re.search(rf"^\| `{option}` \| `?\"?([^\"`| ]+)", PAGE, re.MULTILINE)
        assert told, option
        assert told[1] == str(parameter.default)


def test_the_strategy_of_the_guide_works_as_it_stands():
    guide = (DOCS / "adding-a-strategy.md").read_text(encoding="utf-8")
    sample = re.search(r"```python\n(\"\"\".*?)```", guide, re.DOTALL)[1]
    module = types.ModuleType("paragraphs")
    sys.modules["paragraphs"] = module  # dataclasses look their module up
    exec(compile(sample, "adding-a-strategy.md", "exec"), module.__dict__)
    chunker = StrategyChunker(module.Paragraphs(size=32), Options())
    text = "一段话。\n\n另一段话，它太长了，所以要在句子处切开。这是第二句，也不短，说了不少。"
    document = Document(document_id="d", text=text)

    chunks = chunk_by_the_rules(chunker, document, max_tokens=8_191, mixed=True)
    assert chunks[0].content == "一段话。"
    assert len(chunks) == 3
    assert chunker.settings["size"] == 32

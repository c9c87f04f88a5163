"""Every strategy by its name."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from chunking.protocols import Chunker, Embed
from chunking.strategies.chunker import Strategy, StrategyChunker, needs
from chunking.strategies.dialogue import Dialogue
from chunking.strategies.fixed import Fixed
from chunking.strategies.hybrid import Hybrid
from chunking.strategies.llm import Llm
from chunking.strategies.markdown import Markdown
from chunking.strategies.options import Options
from chunking.strategies.parent_child import ParentChild
from chunking.strategies.recursive import Recursive
from chunking.strategies.semantic import Semantic
from chunking.strategies.sentence import Sentence
from chunking.strategies.title import Title
from chunking.strategies.topic import Topic
from chunking.structure import StructureAwareChunker

# A strategy is added with one line here, its file, and a section of docs/strategies.md.
FURTHER: Mapping[str, Callable[..., Strategy]] = {
    "fixed": Fixed,
    "sentence": Sentence,
    "recursive": Recursive,
    "markdown": Markdown,
    "title": Title,
    "dialogue": Dialogue,
    "semantic": Semantic,
    "topic": Topic,
    "parent_child": ParentChild,
    "llm": Llm,
    "hybrid": Hybrid,
}

STRATEGIES: Mapping[str, Callable[..., Chunker | Strategy]] = {
    "structure": StructureAwareChunker,
    **FURTHER,
}


def make_chunker(name: str, **options: Any) -> Chunker:
    """Build the strategy of that name; docs/strategies.md tells its options.

    A strategy that cuts by vectors takes the model of this process, unless `embed` is handed in.

    Raises:
        ValueError: No such strategy or option, a value out of range, or no `complete` for a
            strategy that asks a chat model.
    """
    if name not in STRATEGIES:
        raise ValueError(f"strategy={name!r} must be one of {', '.join(STRATEGIES)}.")
    if name == "structure":
        return StructureAwareChunker(**_known(name, options, _names(StructureAwareChunker)))
    strategy = FURTHER[name]
    shared = _names(Options)
    own = _known(name, options, [*_names(strategy), *shared])
    for need in needs(strategy):
        if own.get(need) is None:
            own[need] = _model_of(name, need)
    common = {option: own.pop(option) for option in shared if option in own}
    made = strategy(**own)
    return StrategyChunker(made, Options(**{"unit": made.UNIT, **common}))


def needs_of(name: str) -> tuple[str, ...]:
    """Which models the strategy asks: of `embed` and `complete`."""
    return tuple(needs(FURTHER[name])) if name in FURTHER else ()


def _model_of(name: str, need: str) -> Embed:
    if need == "embed":
        return _local_model()
    raise ValueError(
        f"the strategy {name!r} needs {need}: hand in a function (chunking.protocols.Complete) "
        f"that asks a chat model."
    )


@cache
def _local_model() -> Embed:
    """One for all chunkers of this process, as it is large."""
    from chunking.local_model import LocalModel  # noqa: PLC0415 - few chunkers need it

    return LocalModel()


def _names(strategy: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(strategy).parameters)


def _known(name: str, options: dict[str, Any], known: list[str]) -> dict[str, Any]:
    for option in options:
        if option not in known:
            raise ValueError(
                f"{option!r} is no option of the strategy {name!r}; it has {', '.join(known)}."
            )
    return dict(options)

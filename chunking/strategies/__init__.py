"""Every strategy by its name."""

import inspect
from collections.abc import Callable
from typing import Any

from chunking.protocols import Chunker
from chunking.structure import StructureAwareChunker

STRATEGIES: dict[str, Callable[..., Chunker]] = {
    "structure": StructureAwareChunker,
}


def make_chunker(name: str, **options: Any) -> Chunker:
    """Build the strategy of that name; its options are those of its class.

    Raises:
        ValueError: No such strategy or option, or a value out of range.
    """
    if name not in STRATEGIES:
        raise ValueError(f"strategy={name!r} must be one of {', '.join(STRATEGIES)}.")
    strategy = STRATEGIES[name]
    known = inspect.signature(strategy).parameters
    for option in options:
        if option not in known:
            raise ValueError(
                f"{option!r} is no option of the strategy {name!r}; it has {', '.join(known)}."
            )
    return strategy(**options)

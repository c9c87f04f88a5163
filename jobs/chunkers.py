"""The chunker of a configuration, with a model behind it where its strategy asks for one."""

from collections.abc import Callable
from typing import Any

from chunking.protocols import Chunker, Complete
from chunking.strategies import needs_of
from jobs.config import ChunkingSettings, Config, check_chat_model
from jobs.sentences import SentenceVectors, VectorChunker
from storage.objects import open_location
from storage.protocols import ChatModel, Embedder, Location
from storage.throttles import Throttle

ANSWERS = "completions"
"""Folder of the state store, beside those of the aliases."""


def open_chunker(
    settings: ChunkingSettings,
    embedder: Callable[[], Embedder],
    complete: Complete | None = None,
    *,
    is_dry: bool = False,
) -> Chunker:
    """Make the chunker; the embedder is opened when the first sentence needs a vector.

    Args:
        settings: Strategy and options.
        embedder: How to open the model for strategies that cut by vectors.
        complete: The chat model for strategies that ask one (`open_chat_model`).
        is_dry: Embed nothing to find out where to cut (see `SentenceVectors`).

    Raises:
        ValueError: An unknown strategy or option.
    """
    needs = needs_of(settings.strategy)
    models: dict[str, Callable[..., Any]] = {"complete": complete} if complete else {}
    if "embed" not in needs:
        return settings.open(models)
    vectors = SentenceVectors(embedder, is_dry=is_dry)
    return VectorChunker(settings.open({**models, "embed": vectors}), vectors)


def open_chat_model(
    config: Config, *, is_dry: bool = False, throttle: Throttle | None = None
) -> ChatModel | None:
    """The chat model of `[completion]`; None where the strategy asks none.

    Its answers are kept in the state store, under a hash of all that was asked: whichever command,
    worker or run asks again gets the same, for nothing.

    Raises:
        ConfigError: No model is named.
        AccessRefusedError: It needs a key, and none is set.
    """
    if not check_chat_model(config):
        return None
    from storage.completions import Completer  # noqa: PLC0415 - a second that the others need not wait

    state = open_location(config.state.uri, config.s3)
    kept = Location(objects=state.objects, prefix=f"{state.prefix}{ANSWERS}/")
    return Completer(config.completion, kept, is_dry=is_dry, throttle=throttle)

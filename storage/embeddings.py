"""Opening the embedder that the configuration names."""

import importlib
import inspect
import time
from collections.abc import Callable
from typing import cast

from chunking.budget import token_counter
from storage.canary import CANARY_TEXT, Probe, probe
from storage.embedding_settings import EmbeddingSettings
from storage.errors import SettingError
from storage.protocols import Embedder
from storage.retries import Sleep
from storage.throttles import Throttle

__all__ = ["CANARY_TEXT", "EmbeddingSettings", "Probe", "open_embedder", "probe"]


def open_embedder(
    settings: EmbeddingSettings,
    *,
    dim: int | None = None,
    throttle: Throttle | None = None,
    sleep: Sleep = time.sleep,
    clock: Callable[[], float] = time.time,
) -> Embedder:
    """Make the embedder; nothing is loaded or sent before it is used.

    Args:
        settings: Provider, model and limits.
        dim: Length of a remote model's vectors, where it is known (`Probe.dim`); without it
            each embedder sends one canary first.
        throttle: Rates shared with other workers, for a remote model.
        sleep: How to wait between attempts.
        clock: Seconds since the epoch.

    Raises:
        SettingError: `class` names nothing that can be used.
        AccessRefusedError: No key is set where one is needed.
    """
    # Imported here, because each costs up to a second that the other provider need not wait for.
    if settings.class_path:
        return _open_class(settings)
    count_tokens = token_counter("cl100k_base").count
    if settings.provider == "local":
        from storage.local_embeddings import LocalEmbedder  # noqa: PLC0415

        return LocalEmbedder(settings, count_tokens=count_tokens)
    from storage.openai_embeddings import OpenAIEmbedder  # noqa: PLC0415

    return OpenAIEmbedder(
        settings, count_tokens=count_tokens, dim=dim, throttle=throttle, sleep=sleep, clock=clock
    )


def _open_class(settings: EmbeddingSettings) -> Embedder:
    """Import `package.module:Name` and call it with the settings."""
    path = settings.class_path
    module_name, _, name = path.partition(":")
    try:
        made = getattr(importlib.import_module(module_name), name)(settings)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise SettingError(
            "embedding.class",
            f"{path!r} cannot be opened ({error})",
            "Write `package.module:Name` of a class that takes the [embedding] settings, and "
            "make it importable on every worker.",
        ) from error
    missing = [
        member
        for member in ("name", "dim", "embed")
        # getattr_static: `dim` may be a property that sends a request.
        if inspect.getattr_static(made, member, None) is None
    ]
    if missing:
        raise SettingError(
            "embedding.class",
            f"{path!r} has no {', no '.join(missing)}",
            "It must follow storage.protocols.Embedder.",
        )
    return cast("Embedder", made)

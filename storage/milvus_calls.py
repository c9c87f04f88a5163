"""How a call to Milvus is made: a client, a deadline each, retries while they can help."""

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import stamina
from pymilvus import MilvusClient

from storage.errors import Fate, SettingError, SlowDownError, StorageError
from storage.milvus_errors import NotLoadedError, our_errors
from storage.milvus_settings import MilvusSettings

Answer = TypeVar("Answer")

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_FIRST_WAIT = 0.2
_MAX_WAIT = 10.0


class MilvusCalls:
    """A connected client. Not picklable: each process connects for itself (about 10 ms)."""

    def __init__(self, settings: MilvusSettings) -> None:
        if settings.is_path:
            raise ValueError(
                f"uri={settings.uri!r} is a path; serve it with storage.milvus_lite first"
            )
        # What it logs is raised too, and told once, in our words.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        self._settings = settings
        self.client: MilvusClient = self._retried(
            "the connection", settings.connect_seconds, "", lambda: _client(settings)
        )

    def ask(
        self, call: str, method: Callable[..., Answer], *args: Any, about: str = "", **kwargs: Any
    ) -> Answer:
        """Call a method of the client, with the deadline of the settings.

        Args:
            call: What is asked, for errors: "the upsert".
            method: Of `client`; idempotent, since it is called again after a retryable fault.
            args: For the method, like kwargs.
            about: The collection that the call is about, for errors.
            kwargs: For the method.
        """
        deadline = self._settings.timeout_seconds
        return self.again(call, lambda: method(*args, timeout=deadline, **kwargs), about=about)

    def again(self, call: str, attempt: Callable[[], Answer], *, about: str = "") -> Answer:
        """As `ask`, for what takes no deadline of its own."""
        return self._retried(call, self._settings.retry_seconds, about, attempt)

    def close(self) -> None:
        with suppress(ValueError):  # closed already
            self.client.close()

    def _retried(
        self, call: str, seconds: float, about: str, attempt_once: Callable[[], Answer]
    ) -> Answer:
        def attempt() -> Answer:
            with our_errors(self._settings.uri, call, about):
                return attempt_once()

        again = stamina.RetryingCaller(
            attempts=None if self._settings.retry_seconds else 1,
            timeout=seconds or None,
            wait_initial=_FIRST_WAIT,
            wait_max=_MAX_WAIT,
        )
        return again(_next_try, attempt)


def _next_try(error: Exception) -> bool | float:
    """Whether to call again; or after how many seconds, when the server said so."""
    if isinstance(error, SlowDownError) and error.retry_after is not None:
        return error.retry_after
    if isinstance(error, NotLoadedError):  # waiting does not load it; the caller can
        return False
    return isinstance(error, StorageError) and error.fate is Fate.RETRY


def _client(settings: MilvusSettings) -> MilvusClient:
    url = urlsplit(settings.uri)
    options: dict[str, Any] = {}
    if url.scheme == "https":
        if settings.ca_file and not Path(settings.ca_file).is_file():
            raise SettingError(
                "milvus.ca_file", f"there is no file {settings.ca_file}", "Name a PEM file."
            )
        options = {"server_pem_path": settings.ca_file, "server_name": settings.server_name}
    if url.hostname in _LOOPBACK:
        # No proxy, and no pings: Milvus Lite hangs up on a client that pings every ten seconds.
        options["grpc_options"] = {
            "grpc.enable_http_proxy": 0,
            "grpc.keepalive_time_ms": 2**31 - 1,
            "grpc.keepalive_permit_without_calls": 0,
        }
    return MilvusClient(
        uri=settings.uri,
        token=os.environ.get("KITELIFT_MILVUS_TOKEN") or os.environ.get("MILVUS_TOKEN") or "",
        db_name=settings.database,
        timeout=settings.connect_seconds,
        dedicated=True,  # a channel of its own, which close() closes
        **options,
    )

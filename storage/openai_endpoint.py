"""One request to an OpenAI-compatible endpoint. No error of the client leaves this module."""

import os
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

import httpx2  # what the client reads with: its errors come through while a body is read
from openai import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    OpenAI,
    OpenAIError,
    omit,
)

from storage.errors import (
    AccessRefusedError,
    QuotaExhaustedError,
    SettingError,
    SlowDownError,
    StorageError,
    StoreUnavailableError,
)
from storage.retries import retry_after_seconds

_OPENAI = "https://api.openai.com/v1"
_BAD_INPUT = {400, 413, 422}
_PASSING = {408, 409, 429}
_MOST_CHAT_BYTES = 2**20
"""Of an answer; a model that rambles on is of no use, and must not fill memory or the store."""
_LONGEST_REASON = 300
"""Characters of the service's own words that go into a report."""


class RefusedRequestError(Exception):
    """The service will not have this request as it is: an input or a setting is at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a kind of request goes, and how a person names it."""

    service: str
    """In messages: "embeddings service"."""
    section: str
    """The table of the configuration that its settings stand in."""
    keys: tuple[str, ...]
    """Environment variables that may hold the key; the first that does counts."""
    model: str
    base_url: str
    """Empty is OpenAI's own."""
    timeout_seconds: float
    """Until one request must have answered."""
    optional: tuple[tuple[str, str, object], ...] = ()
    """What is sent and a service may not know: its name there, that of the setting, the value."""


class _Response(Protocol):
    def iter_bytes(self) -> Iterator[bytes]: ...


class OpenAIEndpoint:
    """One request per call: retries are the caller's, the client's are off.

    Every method gives the body of the answer and raises RefusedRequestError (halve it, or look at
    the settings) or a StorageError with its fate.
    """

    def __init__(self, where: Endpoint, *, clock: Callable[[], float] = time.time) -> None:
        self._where = where
        self._clock = clock
        self._key = next((key for name in where.keys if (key := os.environ.get(name))), "")
        if not self._key and not where.base_url:
            reason = f"neither {' nor '.join(where.keys)} is set"
            raise AccessRefusedError(where.service, _OPENAI, reason)
        self._headers = None if self._key else {"Authorization": omit}
        self._client = OpenAI(
            api_key=self._key or "none",  # the client insists on one; without, it is not sent
            base_url=where.base_url or _OPENAI,  # not the environment's: texts go where it says
            timeout=where.timeout_seconds,
            max_retries=0,
        )
        weakref.finalize(self, self._client.close)  # its own may come behind that of its sockets

    def post_embeddings(self, texts: Sequence[str], dimensions: int) -> bytes:
        """Ask for the vectors of texts, none of them blank. 0 dimensions leaves them to the model.

        The answer is JSON of the API's `CreateEmbeddingResponse`.
        """
        return self._read(
            self._client.embeddings.with_streaming_response.create(
                model=self._where.model,
                input=list(texts),
                encoding_format="float",
                dimensions=dimensions or omit,
                extra_headers=self._headers,
            )
        )

    def post_chat(
        self, system: str, user: str, *, temperature: float | None, json_mode: bool
    ) -> bytes:
        """Ask a chat model. What is None or off is not sent.

        The answer is JSON of the API's `ChatCompletion`.
        """
        return self._read(
            self._client.chat.completions.with_streaming_response.create(
                model=self._where.model,
                messages=[
                    {"role": "system", "content": system},
                    {"role": "user", "content": user},
                ],
                temperature=omit if temperature is None else temperature,
                response_format={"type": "json_object"} if json_mode else omit,
                extra_headers=self._headers,
            ),
            most_bytes=_MOST_CHAT_BYTES,
        )

    def unavailable(self, reason: str) -> StoreUnavailableError:
        """For an answer that cannot be read."""
        where = self._where
        return StoreUnavailableError(where.service, self._url, self._without_key(reason))

    def _read(
        self, request: AbstractContextManager[_Response], most_bytes: int = sys.maxsize
    ) -> bytes:
        deadline = time.monotonic() + self._where.timeout_seconds
        with self._our_errors(), request as response:
            body = bytearray()
            for piece in response.iter_bytes():
                body += piece
                if len(body) > most_bytes:
                    raise RefusedRequestError(f"its answer has more than {most_bytes} bytes")
                # The client's own time-out starts anew with each piece, and gateways drip blanks.
                if time.monotonic() > deadline:
                    raise self._timed_out()
        return bytes(body)

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        """Every call goes through here. The causes are dropped: they hold bodies and headers."""
        try:
            yield
        except APIStatusError as error:
            raise self._translated(error) from None
        except (APITimeoutError, httpx2.TimeoutException):
            raise self._timed_out() from None
        except APIConnectionError as error:
            raise self.unavailable(str(error.__cause__ or error)) from None
        except (OpenAIError, httpx2.HTTPError) as error:
            raise self.unavailable(str(error)) from None

    def _translated(self, error: APIStatusError) -> StorageError | RefusedRequestError:
        status, reason = error.status_code, self._reason(error)
        if "insufficient_quota" in {error.code, error.type} or status == 402:
            return QuotaExhaustedError(self._where.service, reason)
        if status in {401, 403}:
            return AccessRefusedError(self._where.service, self._url, reason)
        if status in _BAD_INPUT:
            return self._setting_at_fault(error, reason) or RefusedRequestError(reason)
        if status == 429 and "request too large" in reason.lower():
            return RefusedRequestError(reason)  # over the rate on its own: waiting cannot help
        if status in _PASSING or status >= 500:
            return self._passing_fault(error, reason)
        section, model = self._where.section, self._where.model
        return SettingError(
            f"{section}.model or {section}.base_url",
            f"{self._url} does not serve {model!r} ({reason})",
            "Check both; base_url mostly ends in `/v1`.",
        )

    def _passing_fault(self, error: APIStatusError, reason: str) -> StorageError:
        wait = retry_after_seconds(error.response.headers.get("retry-after"), self._clock())
        if error.status_code == 429 or wait is not None:
            return SlowDownError(self._where.service, reason, wait)
        return self.unavailable(reason)

    def _setting_at_fault(self, error: APIStatusError, reason: str) -> SettingError | None:
        """What the service itself says is wrong with a setting rather than an input."""
        section = self._where.section
        for name, setting, value in self._where.optional:
            if error.param == name or name.removesuffix("s") in reason.lower():
                return SettingError(
                    f"{section}.{setting}",
                    f"{self._url} does not take {value} ({reason})",
                    "Take it out of the configuration, or give a value that the model offers.",
                )
        if error.param == "model" or error.code == "model_not_found":
            return SettingError(
                f"{section}.model",
                f"{self._url} does not serve {self._where.model!r} ({reason})",
                "Name a model that it has.",
            )
        return None

    def _reason(self, error: APIStatusError) -> str:
        body = error.body
        message = body.get("message") if isinstance(body, dict) else None
        words = " ".join(str(message or error.response.text).split())[:_LONGEST_REASON]
        return self._without_key(f"HTTP {error.status_code}: {words}")

    def _timed_out(self) -> StoreUnavailableError:
        return self.unavailable(f"no answer in {self._where.timeout_seconds:g} s")

    def _without_key(self, words: str) -> str:
        """Some services repeat the key that they refuse."""
        return words.replace(self._key, "(key)") if self._key else words

    @property
    def _url(self) -> str:
        return str(self._client.base_url)

"""One request to an OpenAI-compatible endpoint. No error of the client leaves this module."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import httpx2  # what the client reads with: its errors come through while a body is read
from openai import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    OpenAI,
    OpenAIError,
    omit,
)

from storage.embedding_answers import Answer, MalformedAnswerError, read_answer
from storage.embedding_settings import EmbeddingSettings
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
_SERVICE = "embeddings service"
_KEYS = ("KITELIFT_EMBEDDING_API_KEY", "OPENAI_API_KEY")
_BAD_INPUT = {400, 413, 422}
_PASSING = {408, 409, 429}
_LONGEST_REASON = 300
"""Characters of the service's own words that go into a report."""


class RefusedRequestError(Exception):
    """The service will not have this request as it is: an input or a setting is at fault."""


class OpenAIEndpoint:
    """`POST /embeddings`, once per call: retries are the caller's, the client's are off."""

    def __init__(
        self, settings: EmbeddingSettings, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._key = next((key for name in _KEYS if (key := os.environ.get(name))), "")
        if not self._key and not settings.base_url:
            raise AccessRefusedError(_SERVICE, _OPENAI, f"neither {_KEYS[0]} nor {_KEYS[1]} is set")
        self._client = OpenAI(
            api_key=self._key or "none",  # the client insists on one; without, it is not sent
            base_url=settings.base_url or _OPENAI,  # not the environment's: texts go where it says
            timeout=settings.timeout_seconds,
            max_retries=0,
        )

    def post(self, texts: Sequence[str], dim: int | None) -> Answer:
        """Embed texts that fit one request.

        Args:
            texts: None of them blank.
            dim: What each vector must have; None takes any.

        Raises:
            RefusedRequestError: Halve it, or look at the settings.
            StorageError: What went wrong otherwise, with its fate.
        """
        deadline = time.monotonic() + self._settings.timeout_seconds
        with (
            self._our_errors(),
            self._client.embeddings.with_streaming_response.create(
                model=self._settings.model,
                input=list(texts),
                encoding_format="float",
                dimensions=self._settings.dimensions or omit,
                extra_headers=None if self._key else {"Authorization": omit},
            ) as response,
        ):
            body = bytearray()
            for piece in response.iter_bytes():
                body += piece
                # The client's own time-out starts anew with each piece, and gateways drip blanks.
                if time.monotonic() > deadline:
                    raise self._timed_out()
        try:
            return read_answer(bytes(body), len(texts), dim)
        except MalformedAnswerError as error:
            raise self._unavailable(str(error)) from None

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
            raise self._unavailable(str(error.__cause__ or error)) from None
        except (OpenAIError, httpx2.HTTPError) as error:
            raise self._unavailable(str(error)) from None

    def _translated(self, error: APIStatusError) -> StorageError | RefusedRequestError:
        status, reason = error.status_code, self._reason(error)
        if "insufficient_quota" in {error.code, error.type} or status == 402:
            return QuotaExhaustedError(_SERVICE, reason)
        if status in {401, 403}:
            return AccessRefusedError(_SERVICE, self._url, reason)
        if status in _BAD_INPUT:
            return self._setting_at_fault(error, reason) or RefusedRequestError(reason)
        if status == 429 and "request too large" in reason.lower():
            return RefusedRequestError(reason)  # over the rate on its own: waiting cannot help
        if status in _PASSING or status >= 500:
            return self._passing_fault(error, reason)
        return SettingError(
            "embedding.model or embedding.base_url",
            f"{self._url} does not serve {self._settings.model!r} ({reason})",
            "Check both; base_url mostly ends in `/v1`.",
        )

    def _passing_fault(self, error: APIStatusError, reason: str) -> StorageError:
        wait = retry_after_seconds(error.response.headers.get("retry-after"), self._clock())
        if error.status_code == 429 or wait is not None:
            return SlowDownError(_SERVICE, reason, wait)
        return self._unavailable(reason)

    def _setting_at_fault(self, error: APIStatusError, reason: str) -> SettingError | None:
        """What the service itself says is wrong with a setting rather than an input."""
        if self._settings.dimensions and (
            error.param == "dimensions" or "dimension" in reason.lower()
        ):
            return SettingError(
                "embedding.dimensions",
                f"{self._url} does not take {self._settings.dimensions} ({reason})",
                "Set it to 0, or to a size that the model offers.",
            )
        if error.param == "model" or error.code == "model_not_found":
            return SettingError(
                "embedding.model",
                f"{self._url} does not serve {self._settings.model!r} ({reason})",
                "Name a model that it has.",
            )
        return None

    def _reason(self, error: APIStatusError) -> str:
        body = error.body
        message = body.get("message") if isinstance(body, dict) else None
        words = " ".join(str(message or error.response.text).split())[:_LONGEST_REASON]
        return self._without_key(f"HTTP {error.status_code}: {words}")

    def _unavailable(self, reason: str) -> StoreUnavailableError:
        return StoreUnavailableError(_SERVICE, self._url, self._without_key(reason))

    def _timed_out(self) -> StoreUnavailableError:
        return self._unavailable(f"no answer in {self._settings.timeout_seconds:g} s")

    def _without_key(self, words: str) -> str:
        """Some services repeat the key that they refuse."""
        return words.replace(self._key, "(key)") if self._key else words

    @property
    def _url(self) -> str:
        return str(self._client.base_url)

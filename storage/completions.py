"""A chat model behind an OpenAI-compatible endpoint, whose answers are kept."""

import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from pydantic_core import from_json

from chunking.budget import token_counter
from chunking.ids import canonical_json
from storage.completion_settings import CompletionSettings
from storage.errors import ConditionFailedError, ObjectMissingError, SettingError, SlowDownError
from storage.openai_endpoint import Endpoint, OpenAIEndpoint, RefusedRequestError
from storage.protocols import CompletionTally, Location
from storage.retries import RetryPolicy, Sleep
from storage.throttles import Throttle, Unthrottled

_CANARY = ('Answer with the JSON object {"ok": true}.', "Go on.")
"""System and user message that no model has a reason to refuse."""


class Completer:
    """`chunking.protocols.Complete`: a system and a user message in, the model's answer out.

    The same messages to the same model get the same answer for ever, whichever worker asks: the
    first answer is kept and wins. So is that there is none, where the service refuses a prompt as
    it is; the answer is then "", which no caller can use, and another run does not ask again.
    """

    def __init__(
        self,
        settings: CompletionSettings,
        kept: Location | None,
        *,
        is_dry: bool = False,
        throttle: Throttle | None = None,
        sleep: Sleep = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open it without a request.

        Args:
            settings: Model, endpoint and limits.
            kept: Where answers are kept; None keeps none.
            is_dry: Send nothing: a prompt without a kept answer is counted, and has none.
            throttle: Rates shared with other workers.
            sleep: How to wait between attempts.
            clock: Seconds since the epoch, to read dates in Retry-After.

        Raises:
            SettingError: No model is named.
            AccessRefusedError: OpenAI's own endpoint is meant, and no key is set.
        """
        if not settings.model:
            raise SettingError(
                "completion.model", "the strategy llm needs a chat model", "Name one that it has."
            )
        self.tally = CompletionTally()
        self._settings = settings
        self._kept = kept
        self._is_dry = is_dry
        self._lock = threading.Lock()
        self._is_proven = False
        self._throttle = throttle or Unthrottled()
        self._count_tokens = token_counter("cl100k_base").count
        self._endpoint = OpenAIEndpoint(_endpoint_of(settings), clock=clock)
        self._retries = RetryPolicy.of(settings, sleep)

    @property
    def concurrent_requests(self) -> int:
        return self._settings.concurrent_requests

    def __call__(self, system: str, user: str) -> str:
        """The answer, kept or new; "" where the service refuses the prompt.

        Raises:
            StorageError: The service does not answer, or refuses every prompt.
        """
        key = self._key(system, user)
        kept = self._look_up(key)
        if kept is not None:
            self._count(reused=1)
            return kept
        if self._is_dry:
            self._count(unasked=1, unasked_tokens=self._prompt_tokens(system, user))
            return ""
        try:
            answer = self._ask(system, user)
        except RefusedRequestError:
            self.check()
            self._count(refused=1)
            answer = ""
        self._is_proven = True
        return self._keep(key, answer)

    def check(self) -> None:
        """Ask for what no model has a reason to refuse, unless it answered something already.

        Raises:
            StorageError: The service does not answer, or refuses every prompt.
        """
        if self._is_proven:
            return
        try:
            self._ask(*_CANARY)
        except RefusedRequestError as refusal:
            raise SettingError(
                "completion.model",
                f"{self._settings.model} answers not even a plain prompt: {refusal}",
                "Try another model, or look at the log of its server.",
            ) from None

    def _ask(self, system: str, user: str) -> str:
        temperature = None if self._settings.temperature < 0 else self._settings.temperature
        prompt_tokens = self._prompt_tokens(system, user)

        def attempt() -> str:
            self._throttle.acquire(prompt_tokens)
            self._count(requests=1)
            try:
                body = self._endpoint.post_chat(
                    system, user, temperature=temperature, json_mode=self._settings.json_mode
                )
            except SlowDownError as error:
                self._throttle.slow_down(error.retry_after)
                raise
            answer, tokens = self._read(body)
            self._count(tokens=tokens)
            return answer

        return self._retries.call(attempt)

    def _prompt_tokens(self, system: str, user: str) -> int:
        return self._count_tokens(system) + self._count_tokens(user)

    def _read(self, body: bytes) -> tuple[str, int]:
        """The text of the answer and its tokens. A model that declines has no text."""
        try:
            told = from_json(body)
            message = told["choices"][0]["message"]
            answer = message.get("content") or ""
            tokens = (told.get("usage") or {}).get("total_tokens") or 0
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise self._endpoint.unavailable(f"its answer is no completion ({error!r})") from None
        if not isinstance(answer, str) or not isinstance(tokens, int):
            raise self._endpoint.unavailable("its answer is no completion: content is no text")
        return answer, tokens

    def _key(self, system: str, user: str) -> str:
        asked = canonical_json([self._settings.shaping, system, user])
        return f"{self._kept.prefix if self._kept else ''}{hashlib.sha256(asked).hexdigest()}.json"

    def _look_up(self, key: str) -> str | None:
        """The kept answer; None if there is none, or it cannot be read."""
        if self._kept is None:
            return None
        try:
            answer = json.loads(self._kept.objects.get(key)[0])["answer"]
        except (ObjectMissingError, ValueError, TypeError, KeyError):
            return None
        return answer if isinstance(answer, str) else None

    def _keep(self, key: str, answer: str) -> str:
        """Keep the answer, and give the one that counts: another worker's, if it was first."""
        if self._kept is None:
            return answer
        body = json.dumps(
            {"answer": answer}
        ).encode()  # in ASCII: it may hold half a surrogate pair
        try:
            self._kept.objects.put(key, body, if_absent=True)
        except ConditionFailedError:
            first = self._look_up(key)
            if first is not None:
                return first
            self._kept.objects.put(key, body)  # what stands there cannot be read
        return answer

    def _count(self, **more: int) -> None:
        with self._lock:
            tally = self.tally
            sums = {name: getattr(tally, name) + number for name, number in more.items()}
            self.tally = replace(tally, **sums)


def _endpoint_of(settings: CompletionSettings) -> Endpoint:
    optional: list[tuple[str, str, object]] = []
    if settings.temperature >= 0:
        optional.append(("temperature", "temperature", settings.temperature))
    if settings.json_mode:
        optional.append(("response_format", "json_mode", "JSON mode"))
    return Endpoint(
        service="chat model",
        section="completion",
        keys=("KITELIFT_COMPLETION_API_KEY", "OPENAI_API_KEY"),
        model=settings.model,
        base_url=settings.base_url,
        timeout_seconds=settings.timeout_seconds,
        optional=tuple(optional),
    )

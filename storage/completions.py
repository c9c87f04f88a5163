"""A chat model behind an OpenAI-compatible endpoint, whose answers are kept."""

import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from pydantic_core import from_json

from chunking.ids import canonical_json
from storage.completion_settings import CompletionSettings
from storage.errors import ConditionFailedError, ObjectMissingError, SettingError
from storage.openai_endpoint import Endpoint, OpenAIEndpoint, RefusedRequestError
from storage.protocols import Location
from storage.retries import RetryPolicy, Sleep

_CANARY = ('Answer with the JSON object {"ok": true}.', "Go on.")
"""System and user message that no model has a reason to refuse."""


@dataclass(slots=True, kw_only=True)
class CompletionTally:
    """What a completer has done since it was opened."""

    requests: int = 0
    """Sent, repeated attempts included."""
    tokens: int = 0
    """Of prompts and answers, as the service counted them."""
    reused: int = 0
    """Answers that were kept from before, and cost nothing."""
    refused: int = 0
    """Prompts that the service would not answer."""


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
        sleep: Sleep = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open it without a request.

        Args:
            settings: Model, endpoint and limits.
            kept: Where answers are kept; None keeps none.
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
        self._lock = threading.Lock()
        self._is_proven = False
        self._endpoint = OpenAIEndpoint(_endpoint_of(settings), clock=clock)
        self._retries = RetryPolicy(
            max_attempts=settings.max_attempts,
            first_wait=settings.first_wait_seconds,
            max_wait=settings.max_wait_seconds,
            sleep=sleep,
        )

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
        try:
            answer = self._ask(system, user)
        except RefusedRequestError:
            self._prove()
            self._count(refused=1)
            answer = ""
        self._is_proven = True
        return self._keep(key, answer)

    def _prove(self) -> None:
        """Find out whether it was the prompt that was refused, or all are."""
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

        def attempt() -> str:
            self._count(requests=1)
            body = self._endpoint.post_chat(
                system, user, temperature=temperature, json_mode=self._settings.json_mode
            )
            answer, tokens = self._read(body)
            self._count(tokens=tokens)
            return answer

        return self._retries.call(attempt)

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

    def _count(
        self, *, requests: int = 0, tokens: int = 0, reused: int = 0, refused: int = 0
    ) -> None:
        with self._lock:
            self.tally.requests += requests
            self.tally.tokens += tokens
            self.tally.reused += reused
            self.tally.refused += refused


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

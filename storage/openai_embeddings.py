"""An OpenAI-compatible service as an Embedder: batches, retries, and one bad input alone."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from storage.canary import CANARY_TEXT
from storage.embedding_answers import Answer, MalformedAnswerError, Vector, read_answer
from storage.embedding_batches import Batch, BatchLimits, CountTokens, plan_batches
from storage.embedding_settings import EmbeddingSettings
from storage.errors import Fate, SettingError, SlowDownError, StorageError
from storage.openai_endpoint import Endpoint, OpenAIEndpoint, RefusedRequestError
from storage.protocols import Embedded
from storage.retries import RetryPolicy, Sleep
from storage.throttles import Throttle, Unthrottled


@dataclass(slots=True, kw_only=True)
class _Call:
    """What the requests of one `embed` share; they run in several threads."""

    texts: Sequence[str]
    dim: int
    is_proven: bool = False
    """Some text was embedded in this call, so that a refusal is about inputs."""
    stopped_by: StorageError | None = None
    """It would meet every further request, too."""


@dataclass(slots=True, kw_only=True)
class _Tally:
    """What came of one planned batch and its halves, by place in the call."""

    vectors: dict[int, Vector] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    error: StorageError | None = None
    """Why texts are in `failed`."""
    tokens: int = 0
    requests: int = 0
    retries: int = 0
    slow_downs: int = 0


class OpenAIEmbedder:
    """Each batch stands for itself: one without an answer fails alone, the others go on.

    A refused batch is halved until the bad input is found. Before that the canary is sent: if it
    is refused as well, no input is at fault, and the error names a setting.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        *,
        count_tokens: CountTokens,
        dim: int | None = None,
        throttle: Throttle | None = None,
        sleep: Sleep = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open it without a request.

        Args:
            settings: Model, endpoint and limits.
            count_tokens: An estimate of what the service will count.
            dim: Length of the vectors, where known; else the canary is embedded to learn it.
            throttle: Rates shared with other workers.
            sleep: How to wait between attempts.
            clock: Seconds since the epoch, to read dates in Retry-After.

        Raises:
            AccessRefusedError: OpenAI's own endpoint is meant, and no key is set.
        """
        self._settings = settings
        self._count_tokens = count_tokens
        self._dim = dim or settings.dimensions or None
        self._throttle = throttle or Unthrottled()
        self._endpoint = OpenAIEndpoint(_endpoint_of(settings), clock=clock)
        self._retries = RetryPolicy.of(settings, sleep)

    @property
    def name(self) -> str:
        dimensions = f"@{self._settings.dimensions}" if self._settings.dimensions else ""
        return f"openai:{self._settings.model}{dimensions}"

    @property
    def dim(self) -> int:
        return self._dim or self._embed_canary().vectors.shape[1]

    def embed(self, texts: Sequence[str]) -> Embedded:
        if list(texts) == [CANARY_TEXT]:
            return self._embed_canary()
        batches, refused = plan_batches(texts, BatchLimits.of(self._settings), self._count_tokens)
        call = _Call(texts=texts, dim=self.dim)
        threads = ThreadPoolExecutor(self._settings.concurrent_requests)
        try:
            tallies = list(threads.map(partial(self._embed_batch, call), batches))
        finally:
            threads.shutdown(wait=False, cancel_futures=True)  # an interrupt waits for no answer
        if tallies and not any(tally.vectors or tally.refused for tally in tallies):
            raise call.stopped_by or next(tally.error for tally in tallies if tally.error)
        vectors = np.zeros((len(texts), call.dim), dtype=np.float32)
        failed: dict[int, str] = {}
        for tally in tallies:
            for place, vector in tally.vectors.items():
                vectors[place] = vector
            refused |= tally.refused
            failed |= tally.failed
        return Embedded(
            vectors=vectors,
            refused=refused,
            failed=failed,
            tokens=sum(tally.tokens for tally in tallies),
            requests=sum(tally.requests for tally in tallies),
            retries=sum(tally.retries for tally in tallies),
            slow_downs=sum(tally.slow_downs for tally in tallies),
        )

    def _embed_batch(self, call: _Call, batch: Batch) -> _Tally:
        tally = _Tally()
        self._fill(tally, call, batch)
        return tally

    def _fill(self, tally: _Tally, call: _Call, batch: Batch) -> None:
        try:
            answer = self._ask_for(batch, call, tally)
        except RefusedRequestError as refusal:
            if len(batch.places) == 1:
                tally.refused[batch.places[0]] = str(refusal)
                return
            for half in batch.halves():
                self._fill(tally, call, half)
        except StorageError as error:
            tally.error = error
            tally.failed |= dict.fromkeys(batch.places, str(error))
            if error.fate is Fate.STOP:
                call.stopped_by = error
        else:
            call.is_proven = True
            tally.vectors |= {batch.places[i]: vector for i, vector in answer.vectors.items()}
            tally.refused |= {batch.places[i]: reason for i, reason in answer.refused.items()}
            tally.tokens += batch.tokens if answer.tokens is None else answer.tokens

    def _ask_for(self, batch: Batch, call: _Call, tally: _Tally) -> Answer:
        if call.stopped_by:
            raise call.stopped_by
        texts = [call.texts[place] for place in batch.places]
        try:
            return self._ask(texts, tokens=batch.tokens, dim=call.dim, tally=tally)
        except RefusedRequestError:
            if not call.is_proven:
                self._embed_canary()
                call.is_proven = True
            raise

    def _ask(self, texts: Sequence[str], *, tokens: int, dim: int | None, tally: _Tally) -> Answer:
        before = tally.requests

        def attempt() -> Answer:
            self._throttle.acquire(tokens)
            tally.retries += tally.requests > before
            tally.requests += 1
            try:
                return self._post(texts, dim)
            except SlowDownError as error:
                tally.slow_downs += 1
                self._throttle.slow_down(error.retry_after)
                raise

        return self._retries.call(attempt)

    def _post(self, texts: Sequence[str], dim: int | None) -> Answer:
        body = self._endpoint.post_embeddings(texts, self._settings.dimensions)
        try:
            return read_answer(body, len(texts), dim)
        except MalformedAnswerError as error:
            raise self._endpoint.unavailable(str(error)) from None

    def _embed_canary(self) -> Embedded:
        """Embed the canary alone; whatever is wrong with the answer is no text's fault."""
        tally = _Tally()
        tokens = self._count_tokens(CANARY_TEXT)
        try:
            answer = self._ask([CANARY_TEXT], tokens=tokens, dim=self._dim, tally=tally)
        except RefusedRequestError as refusal:
            raise self._setting_error(str(refusal)) from None
        if answer.refused:
            raise self._setting_error(answer.refused[0])
        vectors = answer.vectors[0][np.newaxis]
        self._dim = vectors.shape[1]
        return Embedded(
            vectors=vectors,
            tokens=tokens if answer.tokens is None else answer.tokens,
            requests=tally.requests,
            retries=tally.retries,
            slow_downs=tally.slow_downs,
        )

    def _setting_error(self, reason: str) -> SettingError:
        setting = "dimensions" if self._settings.dimensions else "model"
        return SettingError(
            f"embedding.{setting}",
            f"{self.name} does not embed even a plain sentence: {reason}",
            "Set dimensions to 0."
            if self._settings.dimensions
            else "Try another model, or look at the log of its server.",
        )


def _endpoint_of(settings: EmbeddingSettings) -> Endpoint:
    return Endpoint(
        service="embeddings service",
        section="embedding",
        keys=("KITELIFT_EMBEDDING_API_KEY", "OPENAI_API_KEY"),
        model=settings.model,
        base_url=settings.base_url,
        timeout_seconds=settings.timeout_seconds,
        optional=(("dimensions", "dimensions", settings.dimensions),)
        if settings.dimensions
        else (),
    )

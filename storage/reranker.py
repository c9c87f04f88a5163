"""A reranker over HTTP, in the form that Cohere, Jina, vLLM, TEI proxies and others share.

`POST {url}` with `{"model", "query", "documents", "top_n"}`; the answer has
`{"results": [{"index", "relevance_score"}]}`.
"""

import math
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx2
import stamina
from pydantic import BaseModel, ConfigDict, Field, field_validator

from storage.errors import (
    AccessRefusedError,
    Fate,
    SlowDownError,
    StorageError,
    StoreUnavailableError,
    UnexpectedAnswerError,
)

_SERVICE = "the reranker"


class RerankSettings(BaseModel):
    """The `[rerank]` table. The key comes from the environment only: KITELIFT_RERANK_API_KEY."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    url: str = ""
    """Of the endpoint, `/rerank` included; empty is no reranker."""
    model: str = ""
    timeout_seconds: float = Field(default=30.0, gt=0)
    """Until one request must have answered."""
    max_attempts: int = Field(default=3, ge=1)

    @field_validator("url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and (parts.scheme not in {"http", "https"} or not parts.hostname):
            raise ValueError(f"{url!r} is no http(s) address; write `http://host:port/rerank`.")
        if parts.username or parts.password or parts.query:
            raise ValueError("it carries credentials; set KITELIFT_RERANK_API_KEY instead.")
        return url


def rerank(settings: RerankSettings, query: str, documents: Sequence[str]) -> list[float]:
    """The relevance of each document to the query, in their order; higher is better.

    Raises:
        StoreUnavailableError, SlowDownError: No answer in any attempt.
        AccessRefusedError: The key is missing or wrong.
        UnexpectedAnswerError: It refuses the request, or scores not each document once.
    """
    if not documents:
        return []
    again = stamina.RetryingCaller(
        attempts=settings.max_attempts, timeout=None, wait_initial=0.2, wait_max=5
    )
    return again(
        _is_transient,
        lambda: _scores(_ask(settings, query, documents), len(documents), settings.url),
    )


def _ask(settings: RerankSettings, query: str, documents: Sequence[str]) -> Any:
    key = os.environ.get("KITELIFT_RERANK_API_KEY")
    try:
        answer = httpx2.post(
            settings.url,
            json={
                "model": settings.model,
                "query": query,
                "documents": list(documents),
                "top_n": len(documents),
            },
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=settings.timeout_seconds,
        )
    except httpx2.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise StoreUnavailableError(_SERVICE, settings.url, reason) from error
    status, said = answer.status_code, " ".join(answer.text.split())[:200]
    if status in {401, 403}:
        raise AccessRefusedError(_SERVICE, settings.url, f"{status} {said}")
    if status == 429:
        raise SlowDownError(_SERVICE, said)
    if status >= 500 or status == 408:
        raise StoreUnavailableError(_SERVICE, settings.url, f"{status} {said}")
    try:
        answer.raise_for_status()
        return answer.json()
    except (httpx2.HTTPError, ValueError) as error:
        raise _unexpected(settings.url, f"{status} {said}") from error


def _scores(told: Any, count: int, url: str) -> list[float]:
    """Placed by `index`: results come best first."""
    try:
        results = [
            (result["index"], float(result["relevance_score"])) for result in told["results"]
        ]
    except (TypeError, KeyError, ValueError) as error:
        raise _unexpected(url, f"no list of results with index and score ({error})") from error
    scores = dict(results)
    if sorted(place for place, _ in results) != list(range(count)):
        raise _unexpected(url, f"it scored {len(results)} places, of {count} documents")
    if not all(map(math.isfinite, scores.values())):
        raise _unexpected(url, "a score is no finite number")
    return [scores[place] for place in range(count)]


def _unexpected(url: str, reason: str) -> UnexpectedAnswerError:
    return UnexpectedAnswerError(_SERVICE, url, "the request", reason)


def _is_transient(error: Exception) -> bool:
    return isinstance(error, StorageError) and error.fate is Fate.RETRY

"""Tell a webhook how a run ended. Whatever it answers, the run has ended as it has."""

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx2
import stamina

from jobs.report import EXIT_CODES, Report

VARIABLE = "KITELIFT_NOTIFY_URL"
"""In place of `[run].notify_url`, for an address that is a secret itself."""
ATTEMPTS = 4
ATTEMPT_SECONDS = 10.0
TOTAL_SECONDS = 45.0


def notify(
    url: str, report: Report, tell: Callable[[str], None], *, first_wait_seconds: float = 1.0
) -> None:
    """POST the outcome as JSON; a sentence to `tell` when it did not arrive.

    Args:
        url: Where to; empty is nowhere, unless KITELIFT_NOTIFY_URL names another.
        report: Of the run.
        tell: Hears what went wrong. Only the host is named: the path may be a secret.
        first_wait_seconds: Before the second attempt; doubled for each further one.
    """
    url = os.environ.get(VARIABLE) or url
    if not url:
        return
    try:
        attempts = stamina.retry_context(
            on=_may_pass,
            attempts=ATTEMPTS,
            timeout=TOTAL_SECONDS,
            wait_initial=first_wait_seconds,
            wait_max=10.0,
        )
        for attempt in attempts:
            with attempt:
                answer = httpx2.post(url, json=message(report), timeout=ATTEMPT_SECONDS)
                answer.raise_for_status()
    except Exception as error:  # noqa: BLE001 - a dead webhook never fails a run
        host = urlsplit(url).hostname
        tell(f"the webhook at {host} did not take the outcome: {_reason(error)}")


def message(report: Report) -> dict[str, Any]:
    """What is posted: figures and the outcome; of documents nothing but how many.

    `text` is a sentence for people, where chat services look for one.
    """
    documents = report["documents"]
    reason = f": {report['reason']}" if report["reason"] else ""
    name = report["run_id"] or "(none begun)"
    return {
        "text": (
            f"Kitelift run {name} on {report['alias']} {report['outcome']}{reason} "
            f"({documents['stored']} stored, {documents['deleted']} deleted, "
            f"{documents['dead']} dead of {documents['read']} read)"
        ),
        "exit_code": EXIT_CODES[report["outcome"]],
        **{
            key: report[key]
            for key in (
                *("run_id", "outcome", "reason", "alias", "collection", "command", "started_at"),
                *(
                    "seconds",
                    "documents",
                    "chunks",
                    "embedding",
                    "completion",
                    "shards",
                    "dead_letters_total",
                ),
            )
        },
    }


def _may_pass(error: Exception) -> bool:
    if isinstance(error, httpx2.HTTPStatusError):
        return error.response.status_code == 429 or error.response.status_code >= 500
    return isinstance(error, httpx2.TransportError)


def _reason(error: Exception) -> str:
    """Without the address, which httpx2 puts into its own sentence."""
    if isinstance(error, httpx2.HTTPStatusError):
        return f"HTTP {error.response.status_code}"
    return type(error).__name__

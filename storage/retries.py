"""When a call is made again, and after how long."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol, Self, TypeVar

from tenacity import (
    RetryCallState,
    Retrying,
    before_sleep_log,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential_jitter,
    wait_random,
)

from storage.errors import Fate, SlowDownError, StorageError

_LOG = logging.getLogger(__name__)

Sleep = Callable[[float], None]
"""Pauses for so many seconds; tests hand in a clock of their own."""
Result = TypeVar("Result")


class RetrySettings(Protocol):
    """A section of the configuration that says how often and how long."""

    @property
    def max_attempts(self) -> int: ...
    @property
    def first_wait_seconds(self) -> float: ...
    @property
    def max_wait_seconds(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Call again while the error's fate is RETRY: exponential back-off with jitter."""

    max_attempts: int
    """The first included."""
    first_wait: float = 1.0
    """Seconds before the second attempt; doubled for each further one."""
    max_wait: float = 60.0
    """Seconds. Caps what a server asks for, too: one that says an hour would hold the run."""
    sleep: Sleep = time.sleep

    @classmethod
    def of(cls, settings: RetrySettings, sleep: Sleep) -> Self:
        """As a section of the configuration has it."""
        return cls(
            max_attempts=settings.max_attempts,
            first_wait=settings.first_wait_seconds,
            max_wait=settings.max_wait_seconds,
            sleep=sleep,
        )

    def call(self, attempt: Callable[[], Result]) -> Result:
        """The result of the first attempt that gives one; else the error of the last."""
        retrying = Retrying(
            retry=retry_if_exception(_may_pass),
            stop=stop_after_attempt(self.max_attempts),
            wait=self._wait,
            sleep=self.sleep,
            before_sleep=before_sleep_log(_LOG, logging.INFO),
            reraise=True,
        )
        return retrying(attempt)

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, SlowDownError) and error.retry_after is not None:
            # Jitter on top only: never earlier than asked, and not all workers at once.
            asked = error.retry_after + wait_random(max=self.first_wait)(state)
            return min(asked, self.max_wait)
        backoff = wait_exponential_jitter(
            multiplier=self.first_wait, jitter=self.first_wait, max=self.max_wait
        )
        return backoff(state)


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, StorageError) and error.fate is Fate.RETRY


def retry_after_seconds(header: str | None, now: float) -> float | None:
    """Read a Retry-After header (RFC 9110, section 10.2.3): seconds, or an HTTP date.

    Args:
        header: Its value; None if the answer had none.
        now: Seconds since the epoch, to tell how far ahead a date lies.

    Returns:
        Seconds from now, not negative; None if it is missing or neither form.
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except ValueError:
            return None
        if date.tzinfo is None:  # "-0000": the RFC's dates are always UTC
            date = date.replace(tzinfo=UTC)
        seconds = (date - datetime.fromtimestamp(now, UTC)).total_seconds()
    return max(seconds, 0.0) if seconds < float("inf") else None

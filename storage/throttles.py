"""Rates that all workers of a run keep together."""

import threading
import time
from collections.abc import Callable
from typing import Protocol

from storage.retries import Sleep

_FIRST_GAP = 0.25
_MAX_GAP = 15.0
_SHRINK = 0.8
_DEFAULT_PAUSE = 1.0


class Throttle(Protocol):
    """Asked before each request, by every worker."""

    def acquire(self, tokens: int) -> None:
        """Wait until one request of so many tokens may be sent."""

    def slow_down(self, retry_after: float | None) -> None:
        """Hear that the service asked for less; `retry_after` in seconds, if it said so."""


class Unthrottled:
    """No rates: each worker only keeps its own back-off."""

    def acquire(self, tokens: int) -> None: ...

    def slow_down(self, retry_after: float | None) -> None: ...


class Pace:
    """The arithmetic of a shared rate, without a clock or a lock.

    Requests are lined up on one time line, each taking the room that its rate asks for, so no
    minute ever holds more than its share. A 429 pauses the line and puts a gap between requests
    that doubles with each further 429 and shrinks by a fifth with each request: the whole run
    slows down, and grows back.
    """

    def __init__(
        self, *, requests_per_minute: int, tokens_per_minute: int, max_pause: float
    ) -> None:
        self._seconds_per_request = 60 / requests_per_minute if requests_per_minute else 0.0
        self._seconds_per_token = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._max_pause = max_pause
        self._free_at = 0.0
        self._paused_until = 0.0
        self._gap = 0.0

    def reserve(self, tokens: int, now: float) -> float:
        """Take the next free place; return the seconds to wait until it."""
        start = max(now, self._free_at)
        room = max(self._seconds_per_request, tokens * self._seconds_per_token)
        self._free_at = start + room + self._gap
        self._gap = self._gap * _SHRINK if self._gap > 0.01 else 0.0
        return start - now

    def slow_down(self, retry_after: float | None, now: float) -> None:
        """Pause the line. Several 429s within one pause are one: workers get them together."""
        if now >= self._paused_until:
            self._gap = min(max(2 * self._gap, _FIRST_GAP), _MAX_GAP)
        pause = min(_DEFAULT_PAUSE if retry_after is None else retry_after, self._max_pause)
        self._paused_until = max(self._paused_until, now + pause)
        self._free_at = max(self._free_at, self._paused_until)


class SharedPace:
    """A `Pace` for the threads of one process."""

    def __init__(
        self, pace: Pace, *, clock: Callable[[], float] = time.monotonic, sleep: Sleep = time.sleep
    ) -> None:
        self._pace, self._clock, self._sleep = pace, clock, sleep
        self._lock = threading.Lock()

    def acquire(self, tokens: int) -> None:
        with self._lock:
            wait = self._pace.reserve(tokens, self._clock())
        if wait > 0:
            self._sleep(wait)

    def slow_down(self, retry_after: float | None) -> None:
        with self._lock:
            self._pace.slow_down(retry_after, self._clock())

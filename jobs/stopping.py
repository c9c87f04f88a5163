"""A clean end on request.

The first SIGINT or SIGTERM lets what is in flight end, the second stops at once.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class StopSign:
    """Looked at before each new shard."""

    reason: str = ""
    gives_way: bool = False
    """The reason is a run that waits for us to end; we go on when it is over."""
    is_urgent: bool = False
    """Nothing that is in flight is waited for."""


@contextmanager
def stop_sign(sign: StopSign, tell: Callable[[str], None]) -> Iterator[None]:
    """Raise it for signals while the context lasts, and tell; for the main thread only."""

    def raised(number: int, frame: FrameType | None) -> None:
        del frame
        if sign.reason:
            sign.is_urgent = True
            raise KeyboardInterrupt
        name = signal.Signals(number).name
        sign.reason = f"stopped by {name}; what was committed stays, run again to go on"
        with suppress(RuntimeError):  # it came while something else was being written
            tell(f"{name}: what is in flight ends, then the run; once more ends it at once")

    before = {number: signal.signal(number, raised) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

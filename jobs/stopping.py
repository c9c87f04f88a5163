"""A clean end on request.

The first SIGINT or SIGTERM lets what is in flight end, the second stops at once.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class StopSign:
    """Looked at before each new shard."""

    reason: str = ""


@contextmanager
def stop_sign() -> Iterator[StopSign]:
    """Catch signals while the context lasts; for the main thread only."""
    sign = StopSign()

    def raised(number: int, frame: FrameType | None) -> None:
        del frame
        if sign.reason:
            raise KeyboardInterrupt
        name = signal.Signals(number).name
        sign.reason = f"stopped by {name}; what was committed stays, run again to go on"

    before = {number: signal.signal(number, raised) for number in SIGNALS}
    try:
        yield sign
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

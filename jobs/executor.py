"""Where shards are walked, as the schedule sees it; and the simplest place: here."""

from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from jobs.docket import Note
from jobs.rooms import ShardTask
from jobs.worker import Order, Outcome, Throttles, walk
from storage.records import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The worker died at the task, or its whole machine did."""

    reason: str
    machine: bool
    """The machine went away: no fault of the task."""

    def __str__(self) -> str:
        return self.reason


class Executor(Protocol):
    """Walks tasks somewhere. A context manager: on leaving, nothing of it runs any more."""

    @property
    def slots(self) -> int:
        """Tasks that can be at work at once."""

    def submit(self, task: ShardTask) -> None: ...

    def next_done(self, seconds: float) -> tuple[ShardTask, Outcome | Lost] | None:
        """Some task that has ended, in no order; None when none did within so many seconds."""

    def count(self, work: Tally) -> None:
        """Tell of work of the run that is no task, as of that of tasks."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class InlineExecutor:
    """Walks each task in this process, when it is asked for the next one that is done."""

    def __init__(self, order: Order, note: Note, throttles: Throttles) -> None:
        self._order, self._note, self._throttles = order, note, throttles
        self._waiting: deque[ShardTask] = deque()

    @property
    def slots(self) -> int:
        return 1

    def submit(self, task: ShardTask) -> None:
        self._waiting.append(task)

    def next_done(self, seconds: float) -> tuple[ShardTask, Outcome | Lost] | None:
        del seconds  # it works, rather than waits
        if not self._waiting:
            return None
        task = self._waiting.popleft()
        return task, walk(self._order, task, self._note, self._throttles)

    def count(self, work: Tally) -> None:
        self._note(work)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._waiting.clear()

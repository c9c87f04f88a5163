"""What a person sees while a run goes on: a live bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from storage.records import RunPlan, ShardResult, Tally

LINE_EVERY_SECONDS = 10.0


class View(Protocol):
    """Hears how a run goes on. A context manager: it cleans the screen up behind it."""

    def tell(self, sentence: str) -> None: ...

    def begin(self, plan: RunPlan) -> None: ...

    def work(self, work: Tally) -> None:
        """What was done since the last call."""

    def shard(self, result: ShardResult) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class Silence:
    """Nobody looks."""

    def tell(self, sentence: str) -> None: ...

    def begin(self, plan: RunPlan) -> None: ...

    def work(self, work: Tally) -> None: ...

    def shard(self, result: ShardResult) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class Lines:
    """A line when something begins, and one every ten seconds; for logs."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = self._last = clock()
        self._done = Tally()
        self._documents = self._shards = self._failed = self._total_shards = 0

    def tell(self, sentence: str) -> None:
        print(f"kitelift: {sentence}", file=sys.stderr, flush=True)  # noqa: T201 - the view

    def begin(self, plan: RunPlan) -> None:
        self._documents = documents_due(plan)
        self._total_shards = len(plan.shards)
        self._shards = self._failed = 0
        self._done = Tally()
        self._begun = self._last = self._clock()

    def work(self, work: Tally) -> None:
        self._done += work
        now = self._clock()
        if self._total_shards and now - self._last >= LINE_EVERY_SECONDS:
            self._last = now
            self.tell(self._line(now))

    def shard(self, result: ShardResult) -> None:
        self._shards += 1
        self._failed += result.part is None
        if self._shards == self._total_shards:
            self.tell(self._line(self._clock()))

    def _line(self, now: float) -> str:
        done = self._done.fates.read + self._done.fates.duplicate
        seconds = max(now - self._begun, 1e-6)
        left = (self._documents - done) * seconds / done if done else None
        return (
            f"{done}/{self._documents} documents, {self._shards}/{self._total_shards} shards, "
            f"{self._done.chunks} chunks, {self._done.embedded_tokens} tokens embedded "
            f"({self._done.embedded_tokens / seconds:.0f}/s), {self._done.fates.dead} dead, "
            f"{self._failed} failed, {clock_time(left)} left"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class LiveBar:
    """A bar with documents, chunks, tokens, rate, time left and failures."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            _Figures(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=None, tally=Tally(), failed=0)
        self._tally = Tally()
        self._failed = 0

    def tell(self, sentence: str) -> None:
        self._progress.console.print(f"[dim]{_escaped(sentence)}[/dim]", highlight=False)

    def begin(self, plan: RunPlan) -> None:
        self._tally, self._failed = Tally(), 0
        self._progress.reset(self._task, total=documents_due(plan), description="documents")
        self.work(Tally())

    def work(self, work: Tally) -> None:
        self._tally += work
        done = self._tally.fates.read + self._tally.fates.duplicate
        self._progress.update(self._task, completed=done, tally=self._tally, failed=self._failed)

    def shard(self, result: ShardResult) -> None:
        self._failed += result.part is None
        self.work(Tally())

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()


class _Figures(ProgressColumn):
    def render(self, task: Task) -> Text:
        tally: Tally = task.fields["tally"]
        seconds = max(task.elapsed or 0.0, 1e-6)
        total = "?" if task.total is None else f"{task.total:.0f}"
        parts = [
            f"{task.completed:.0f}/{total}",
            f"{tally.chunks} chunks",
            f"{tally.embedded_tokens} tokens ({tally.embedded_tokens / seconds:.0f}/s)",
            f"{clock_time(task.time_remaining)} left",
        ]
        text = Text(" · ".join(parts))
        if tally.fates.dead or task.fields["failed"]:
            text.append(f" · {tally.fates.dead} dead, {task.fields['failed']} failed", "bold red")
        return text


def open_view() -> View:
    """A bar where somebody sits at a terminal, else lines."""
    console = Console(stderr=True)
    return LiveBar(console) if console.is_terminal else Lines()


def documents_due(plan: RunPlan) -> int:
    return sum(shard.rows for shard in plan.shards)


def clock_time(seconds: float | None) -> str:
    if seconds is None:
        return "--:--"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _escaped(text: str) -> str:
    return text.replace("[", "\\[")

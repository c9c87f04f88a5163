"""What a person sees while files are converted: a live bar on a terminal, plain lines elsewhere."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from jobs.progress import LINE_EVERY_SECONDS


class FileProgress:
    """Counts files. A context manager: it cleans the screen up behind it."""

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._is_live = console.is_terminal
        self._bar = Progress(
            TextColumn("files"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("[bold red]{task.fields[told]}"),
            console=console,
            transient=True,
            disable=not self._is_live,
        )
        self._task = self._bar.add_task("files", total=None, told="")
        self._total = self._done = self._failed = 0
        self._last = time.monotonic()

    def begin(self, total: int) -> None:
        self._total = total
        self._bar.update(self._task, total=total)

    def advance(self, *, failed: bool = False) -> None:
        """One file more."""
        self._done += 1
        self._failed += failed
        told = f"{self._failed} failed" if self._failed else ""
        self._bar.update(self._task, completed=self._done, told=told)
        now = time.monotonic()
        if not self._is_live and now - self._last >= LINE_EVERY_SECONDS:
            self._last = now
            line = f"kitelift: {self._done}/{self._total} files, {self._failed} failed"
            print(line, file=sys.stderr, flush=True)  # noqa: T201 - the view

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

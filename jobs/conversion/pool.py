"""Work on many files in several processes: in order, in bounded memory, and past killed workers."""

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import TracebackType
from typing import Generic, Self, TypeVar

T = TypeVar("T")
R = TypeVar("R")

BATCH_FILES = 32
"""Small files travel together: a trip to a worker takes longer than to parse one."""
BATCH_BYTES = 1 << 20
WINDOW_BYTES = 64 << 20
"""Of files that are at work or waiting to be taken up, or a single larger one."""
WINDOW_BATCHES = 4
"""The same, for each process."""

_SPAWN = multiprocessing.get_context("spawn")  # what Arrow and boto start does not survive a fork


class FilePool(Generic[T, R]):
    """Worker processes for `work`, which is given a batch and returns a result for each of it.

    Args:
        work: Importable by its name, as are its arguments by pickle.
        size: Of a file, in bytes.
        died: The result for a file that ends the process that works on it.
        prepare: Called at the start of each process.
        workers: Processes; 0 works in this one, unprotected.
    """

    def __init__(
        self,
        work: Callable[[Sequence[T]], list[R]],
        *,
        size: Callable[[T], int],
        died: R,
        prepare: Callable[[], None],
        workers: int,
    ) -> None:
        self._work, self._size, self._died = work, size, died
        self._prepare, self._workers = prepare, workers
        self._many: ProcessPoolExecutor | None = None
        self._one: ProcessPoolExecutor | None = None

    def map(self, files: Iterable[T]) -> Iterator[R]:
        """A result for each file, in order. `files` is read no further ahead than the window."""
        if not self._workers:
            for batch in self._batches(files):
                yield from self._work(batch)
            return
        pending: deque[tuple[list[T], Future[list[R]]]] = deque()
        at_work = 0
        for batch in self._batches(files):
            size = sum(map(self._size, batch))
            while pending and (
                len(pending) >= WINDOW_BATCHES * self._workers or at_work + size > WINDOW_BYTES
            ):
                at_work -= sum(map(self._size, pending[0][0]))
                yield from self._results(*pending.popleft())
            pending.append((batch, self._submit(batch)))
            at_work += size
        while pending:
            yield from self._results(*pending.popleft())

    def _batches(self, files: Iterable[T]) -> Iterator[list[T]]:
        batch: list[T] = []
        total = 0
        for file in files:
            size = self._size(file)
            if batch and (len(batch) >= BATCH_FILES or total + size > BATCH_BYTES):
                yield batch
                batch, total = [], 0
            batch.append(file)
            total += size
        if batch:
            yield batch

    def _submit(self, batch: list[T]) -> Future[list[R]]:
        if self._many is None:
            self._many = self._start(self._workers)
        with _interrupts_kept_off():
            try:
                return self._many.submit(self._work, batch)
            except BrokenProcessPool:
                self._many.shutdown()
                self._many = self._start(self._workers)
                return self._many.submit(self._work, batch)

    def _results(self, batch: list[T], future: Future[list[R]]) -> list[R]:
        try:
            return future.result()
        except BrokenProcessPool:
            return self._alone(batch)

    def _alone(self, batch: list[T]) -> list[R]:
        """Work that was lost with its process: alone in another, then file by file.

        A pool does not say which of its processes died over what, so all that was at work is
        suspected, and one after another gets a process where nothing else is.
        """
        if self._one is None:
            self._one = self._start(1)
        try:
            with _interrupts_kept_off():
                future = self._one.submit(self._work, batch)
            return future.result()
        except BrokenProcessPool:
            self._one.shutdown()
            self._one = None
        if len(batch) == 1:
            return [self._died]
        return [result for file in batch for result in self._alone([file])]

    def _start(self, workers: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(workers, mp_context=_SPAWN, initializer=self._prepare)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for pool in filter(None, [self._many, self._one]):
            pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_kept_off() -> Iterator[None]:
    """Ctrl-C is for this process; those that start in the meantime never hear of it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

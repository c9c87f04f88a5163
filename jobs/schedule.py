"""What is walked next, and what becomes of a shard that did not come back well.

    fault RETRY          again, after a pause, `max_attempts` times in all; then the shard failed
    fault STOP           the run ends
    worker died          again, one document at a time, each named before it is touched;
                         when it dies once more, the named document is set aside, and on
    machine went away    again; no fault of the shard

A store that fails shard after shard is down: the run ends before more is spent.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from jobs.executor import Executor, Lost
from jobs.rooms import ShardTask
from jobs.windows import suspect_key
from jobs.worker import Fault
from storage.errors import Fate, ObjectMissingError, StorageError
from storage.protocols import ObjectStore
from storage.records import DeadLetter, Fates, ShardResult, Tally

PAUSE_SECONDS = 2.0
"""Before a shard is tried again; the stores' own retries have waited already."""
FAILURES_IN_A_ROW = 3
POLL_SECONDS = 0.5
POISON_A_SHARD = 20
"""Documents that may kill a worker before their shard is given up."""


class RunStoppedError(StorageError):
    """A fault that every later shard would meet as well."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


def work_off(
    tasks: Iterable[ShardTask],
    executor: Executor,
    state: ObjectStore,
    *,
    max_attempts: int,
    pulse: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[ShardResult]:
    """Walk every task to its end; yield results as they come, failed shards among them.

    Args:
        tasks: In order of the plan; taken as places become free.
        executor: Where they are walked.
        state: Where a careful attempt names its suspects.
        max_attempts: Of one shard.
        pulse: Called at least every second; may raise to stop the run.
        clock: Monotonic seconds.
        sleep: Waits.

    Raises:
        RunStoppedError: See the table above.
    """
    fresh = iter(tasks)
    again: list[tuple[float, ShardTask]] = []
    running = failures_in_a_row = 0
    while True:
        pulse()
        while running < 2 * executor.slots and (task := _next(again, fresh, clock())):
            executor.submit(task)
            running += 1
        if not running and not again:
            return
        if not running:  # what waits is not ripe yet
            sleep(POLL_SECONDS)
        done = executor.next_done(POLL_SECONDS) if running else None
        if done is None:
            continue
        running -= 1
        task, outcome = done
        if isinstance(outcome, ShardResult):
            failures_in_a_row = 0
            yield outcome
        elif (follower := _follower(task, outcome, state, max_attempts)) is not None:
            again.append((clock() + PAUSE_SECONDS, follower))
        else:
            failures_in_a_row += isinstance(outcome, Fault)
            if failures_in_a_row >= FAILURES_IN_A_ROW:
                raise RunStoppedError(f"{failures_in_a_row} shards in a row failed: {outcome}")
            yield failed_shard(task, str(outcome))


def failed_shard(task: ShardTask, reason: str) -> ShardResult:
    """The record of a shard that was given up; it is not committed, and a rerun takes it up."""
    shard = task.shard
    letter = DeadLetter(
        document_id="",
        object_key=shard.object_key,
        stage="shard",
        reason=reason,
        row=shard.first_row,
        attempts=task.attempt,
    )
    return ShardResult(
        number=shard.number,
        object_key=shard.object_key,
        etag=shard.etag,
        attempt=task.attempt,
        part=None,
        tally=Tally(fates=Fates(dead=shard.rows - len(shard.losers))),
        seconds=0.0,
        dead=(letter,),
    )


def _next(
    again: list[tuple[float, ShardTask]], fresh: Iterator[ShardTask], now: float
) -> ShardTask | None:
    """A shard whose pause is over, else one of the plan."""
    for place, (not_before, task) in enumerate(again):
        if not_before <= now:
            del again[place]
            return task
    return next(fresh, None)


def _follower(
    task: ShardTask, outcome: Fault | Lost, state: ObjectStore, max_attempts: int
) -> ShardTask | None:
    """The next attempt at the same shard; None gives it up.

    Raises:
        RunStoppedError: Every other shard would fail the same way.
    """
    if isinstance(outcome, Fault) and outcome.fate is not Fate.RETRY:
        raise RunStoppedError(outcome.message)
    following = replace(task, attempt=task.attempt + 1)
    if isinstance(outcome, Fault) or outcome.machine:
        return following if task.attempt < max_attempts + len(task.poison) else None
    if not task.careful:
        return replace(following, careful=True)
    row = _suspect(task, state)
    if row is None or row in task.poison or len(task.poison) >= POISON_A_SHARD:
        return None
    return replace(following, poison=(*task.poison, row))


def _suspect(task: ShardTask, state: ObjectStore) -> int | None:
    """The row that the dead attempt was about to touch."""
    try:
        return int(json.loads(state.get(suspect_key(task))[0])["row"])
    except (ObjectMissingError, ValueError, KeyError):
        return None

"""What becomes of a shard that did not come back well."""

import json
from collections import deque

import pytest

from jobs.executor import Lost
from jobs.rooms import ShardTask
from jobs.schedule import FAILURES_IN_A_ROW, RunStoppedError, work_off
from jobs.windows import suspect_key
from jobs.worker import Fault
from storage.errors import Fate
from storage.lease import Fence
from storage.local_objects import LocalObjectStore
from storage.records import Part, ShardPlan, ShardResult, Tally

BUSY = Fault(kind="StoreUnavailableError", message="Milvus is away", fate=Fate.RETRY)
WRONG_KEY = Fault(kind="AccessRefusedError", message="wrong key", fate=Fate.STOP)
DIED = Lost(reason="worker died", machine=False)
NODE_GONE = Lost(reason="node died", machine=True)


class Scripted:
    """An executor whose answers are given beforehand, by shard; then every task succeeds."""

    slots = 2

    def __init__(self, script, on_submit=lambda task: None):
        self.script = {number: deque(answers) for number, answers in script.items()}
        self.seen, self.waiting, self.on_submit = [], deque(), on_submit
        self.most_waiting = 0

    def submit(self, task):
        self.on_submit(task)
        self.seen.append(task)
        self.waiting.append(task)
        self.most_waiting = max(self.most_waiting, len(self.waiting))

    def next_done(self, seconds):
        task = self.waiting.popleft()
        answers = self.script.get(task.shard.number)
        return task, answers.popleft() if answers else succeeded(task)


def task(number: int) -> ShardTask:
    shard = ShardPlan(
        number=number,
        object_key=f"{number}.parquet",
        etag="e",
        size=1,
        first_group=0,
        group_count=1,
        first_row=0,
        rows=10,
    )
    fence = Fence(key="lease", collection="docs", run_id="r", epoch=1)
    return ShardTask(
        run_id="r",
        shard=shard,
        folder=f"runs/{number}",
        attempt=1,
        fence=fence,
        attic="attic",
        window_bytes=1,
        embed_texts=1,
    )


def succeeded(task: ShardTask) -> ShardResult:
    return ShardResult(
        number=task.shard.number,
        object_key=task.shard.object_key,
        etag="e",
        attempt=task.attempt,
        part=Part(key="p", first_row=0, rows=10),
        tally=Tally(),
        seconds=0.0,
    )


@pytest.fixture
def walk(tmp_path):
    """Work off shards 0..n-1 with a script; gives results by number, and the executor."""

    def walk(count, script, on_submit=lambda task, state: None):
        state = LocalObjectStore(tmp_path)
        executor = Scripted(script, lambda t: on_submit(t, state))
        clock = iter(range(0, 10**6, 10))
        results = work_off(
            map(task, range(count)),
            executor,
            state,
            max_attempts=3,
            clock=lambda: next(clock),
            sleep=lambda _: None,
        )
        return {result.number: result for result in results}, executor

    return walk


def test_every_shard_is_walked_once_and_few_are_in_flight(walk):
    results, executor = walk(50, {})

    assert sorted(results) == list(range(50))
    assert len(executor.seen) == 50
    assert executor.most_waiting == 2 * executor.slots


def test_a_passing_fault_is_tried_again_and_counted(walk):
    results, _ = walk(3, {1: [BUSY, BUSY]})

    assert results[1].attempt == 3
    assert all(result.part for result in results.values())


def test_a_shard_that_fails_every_time_is_given_up_and_the_rest_goes_on(walk):
    results, executor = walk(6, {2: [BUSY] * 3})

    assert results[2].part is None
    assert results[2].tally.fates.dead == 10
    assert results[2].dead[0].reason == "Milvus is away"
    assert [t.attempt for t in executor.seen if t.shard.number == 2] == [1, 2, 3]
    assert sum(result.part is not None for result in results.values()) == 5


def test_a_store_that_fails_shard_after_shard_stops_the_run(walk):
    with pytest.raises(RunStoppedError, match="3 shards in a row failed: Milvus is away"):
        walk(20, {n: [BUSY] * 3 for n in range(20)})

    assert FAILURES_IN_A_ROW == 3


def test_what_every_shard_would_meet_stops_the_run_at_once(walk):
    with pytest.raises(RunStoppedError, match="wrong key"):
        walk(20, {0: [WRONG_KEY]})


def test_a_lost_machine_is_no_fault_of_the_shard(walk):
    results, executor = walk(2, {0: [NODE_GONE]})

    assert results[0].part
    assert not any(t.careful for t in executor.seen)


def test_the_document_that_kills_its_worker_is_named_on_the_second_death_and_set_aside(walk):
    def name_suspect(task, state):
        if task.careful and 7 not in task.poison:
            state.put(suspect_key(task), json.dumps({"row": 7, "document_id": "x"}).encode())

    results, executor = walk(2, {0: [DIED, DIED]}, name_suspect)

    attempts = [(t.attempt, t.careful, t.poison) for t in executor.seen if t.shard.number == 0]
    assert attempts == [(1, False, ()), (2, True, ()), (3, True, (7,))]
    assert results[0].part


def test_a_shard_that_dies_without_a_suspect_is_given_up(walk):
    results, executor = walk(1, {0: [DIED] * 9})

    assert results[0].part is None
    assert len(executor.seen) == 2

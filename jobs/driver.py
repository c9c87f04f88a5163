"""Ray, all of it: one task per shard, and one small actor that all workers share.

Ray decides where a task runs; how many are in flight, and what becomes of a task whose worker
died, is decided in jobs/schedule.py, so Ray's own retries are off.
"""

import logging
import os
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, get_args

import ray
from ray.exceptions import (
    OutOfMemoryError,
    RayError,
    RayTaskError,
    WorkerCrashedError,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from jobs import metrics
from jobs.docket import Note
from jobs.executor import Lost
from jobs.meters import Meters
from jobs.rooms import ShardTask
from jobs.worker import Fault, Model, Order, Outcome, walk
from storage.errors import SettingError, StoreUnavailableError
from storage.records import Tally
from storage.throttles import Pace

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
"""No report to anyone; and no token file of an earlier cluster that would lock us out."""
START_ATTEMPTS = 3
"""Of a cluster on this machine: a busy one may not start within Ray's own 30 seconds."""
LOCAL_OBJECT_STORE_BYTES = 128 * 2**20
"""Nothing big goes through it: tasks and results are a few kilobytes."""


class RayExecutor:
    """Walks tasks on the cluster that RAY_ADDRESS names, or on one of its own here."""

    def __init__(
        self,
        order: Order,
        note: Note,
        paces: Mapping[Model, Pace],
        *,
        workers: int,
        run: Mapping[str, str],
        local: Sequence[str] = (),
    ) -> None:
        """Prepare; nothing is started before the context is entered.

        Args:
            order: What every task of the run shares.
            note: Hears of the work.
            paces: Of requests to each model, shared by all workers.
            workers: Tasks at work at once; 0 is one a CPU.
            run: What its metrics are tagged with (see jobs/metrics.py).
            local: Settings that name what only this machine sees.
        """
        self._order, self._note, self._paces = order, note, paces
        self._workers, self._local, self._run = workers, local, run
        self._running: dict[Any, ShardTask] = {}
        self._started = False

    def __enter__(self) -> Self:
        if not ray.is_initialized():
            _init()
            self._started = True
        self._refuse_what_others_cannot_see()
        cpus = ray.cluster_resources().get("CPU", 1)  # type: ignore[no-untyped-call]
        self._slots = self._workers or max(1, int(cpus))
        # Beside the driver: on a node of its own choosing it would end the run with that node.
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        desk = ray.remote(num_cpus=0, scheduling_strategy=here)(_Desk)  # type: ignore[call-overload]
        self._desk: Any = desk.remote(self._paces)
        self._order_ref = ray.put(self._order)
        self._walk = ray.remote(num_cpus=1, max_retries=0)(_walk)
        self._meters = Meters(self._run)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for reference in self._running:
            ray.cancel(reference, force=True)
        ray.kill(self._desk)
        if self._started:
            ray.shutdown()

    def _refuse_what_others_cannot_see(self) -> None:
        nodes = ray.nodes()  # type: ignore[no-untyped-call]
        hosts = {node["NodeManagerHostname"] for node in nodes if node["Alive"]}
        if self._local and len(hosts) > 1:
            ray.shutdown()
            raise SettingError(
                " and ".join(self._local),
                f"only this machine can reach it, and the cluster has {len(hosts)}",
                "Name a bucket (s3://) and a Milvus server (http://), or leave RAY_ADDRESS out.",
            )

    @property
    def slots(self) -> int:
        return self._slots

    def submit(self, task: ShardTask) -> None:
        reference = self._walk.remote(self._order_ref, task, self._desk)
        self._running[reference] = task

    def next_done(self, seconds: float) -> tuple[ShardTask, Outcome | Lost] | None:
        self._hear()
        done, _ = ray.wait(list(self._running), num_returns=1, timeout=seconds)
        if not done:
            return None
        task = self._running.pop(done[0])
        try:
            outcome: Outcome | Lost = ray.get(done[0])
        except (WorkerCrashedError, OutOfMemoryError) as error:
            outcome = Lost(reason=_first_line(error), machine=False)
        except RayTaskError as error:
            raise error.as_instanceof_cause() from None  # type: ignore[no-untyped-call]
        except RayError as error:  # a node that died, or the task's answer with it
            outcome = Lost(reason=_first_line(error), machine=True)
        self._hear()  # what the task noted last
        self._meters.count(metrics.SHARDS, outcome=_told(outcome))
        return task, outcome

    def count(self, work: Tally) -> None:
        self._note(work)
        self._meters.add(work)

    def _hear(self) -> None:
        try:
            self.count(ray.get(self._desk.drain.remote()))
            # A gauge is exported for as long as it is set again and again.
            self._meters.set(metrics.SLOTS, self._slots)
            self._meters.set(metrics.IN_FLIGHT, len(self._running))
        except RayError as error:  # the driver's own node is going down
            raise StoreUnavailableError("Ray", "this node", _first_line(error)) from error


class _Desk:
    """What all workers of a run share: the live tally, and the pace of requests."""

    def __init__(self, paces: Mapping[Model, Pace]) -> None:
        self._paces = paces
        self._since = Tally()

    def note(self, work: Tally) -> None:
        self._since += work

    def drain(self) -> Tally:
        """What was noted since the last call."""
        since, self._since = self._since, Tally()
        return since

    def reserve(self, model: Model, tokens: int) -> float:
        """Seconds to wait until a request of so many tokens may be sent."""
        return self._paces[model].reserve(tokens, time.monotonic())

    def slow_down(self, model: Model, retry_after: float | None) -> None:
        self._paces[model].slow_down(retry_after, time.monotonic())


class _DeskThrottle:
    """A worker's end of a shared pace."""

    def __init__(self, desk: Any, model: Model) -> None:
        self._desk, self._model = desk, model

    def acquire(self, tokens: int) -> None:
        wait = ray.get(self._desk.reserve.remote(self._model, tokens))
        if wait > 0:
            time.sleep(wait)

    def slow_down(self, retry_after: float | None) -> None:
        self._desk.slow_down.remote(self._model, retry_after)


def _walk(order: Order, task: ShardTask, desk: Any) -> Outcome:
    throttles = {model: _DeskThrottle(desk, model) for model in get_args(Model)}
    return walk(order, task, desk.note.remote, throttles)


def _init() -> None:
    """Join the cluster that RAY_ADDRESS names; else start one here, on loopback.

    Raises:
        StoreUnavailableError: There is no such cluster, or none could be started.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    logging.getLogger("ray").setLevel(logging.CRITICAL)  # what matters is raised, and told once
    address = os.environ.get("RAY_ADDRESS", "")
    attempts = 1 if address else START_ATTEMPTS
    for attempt in range(attempts):
        try:
            ray.init(configure_logging=False, log_to_driver=False, **_place(address))
        except Exception as error:  # Ray raises bare Exceptions where its own processes are slow
            ray.shutdown()
            if attempt + 1 == attempts:
                raise StoreUnavailableError(
                    "Ray", address or "this machine", str(error).partition("\n")[0]
                ) from error
        else:
            return


def _place(address: str) -> dict[str, Any]:
    if address:
        return {}  # it reads RAY_ADDRESS itself
    return {
        "address": "local",
        "include_dashboard": False,
        "object_store_memory": LOCAL_OBJECT_STORE_BYTES,
        "_node_ip_address": "127.0.0.1",
    }


def _told(outcome: Outcome | Lost) -> str:
    if isinstance(outcome, Lost):
        return "lost"
    return "fault" if isinstance(outcome, Fault) else "committed" if outcome.part else "failed"


def _first_line(error: RayError) -> str:
    return str(error).strip().partition("\n")[0]


def cluster_told() -> str:
    """Start or join Ray as a run would, and say what it has."""
    _init()
    try:
        resources = ray.cluster_resources()  # type: ignore[no-untyped-call]
    finally:
        ray.shutdown()
    place = os.environ.get("RAY_ADDRESS") or "started on this machine"
    gib = resources.get("memory", 0) / 2**30
    return f"Ray {ray.__version__} ({place}): {resources.get('CPU', 0):.0f} CPUs, {gib:.1f} GiB"

"""A backfill leaves the collection to the nightly run between two shards, and then goes on."""

import threading
from dataclasses import dataclass, field
from time import sleep

import pytest

from jobs.plan import Scope
from jobs.progress import Silence
from jobs.run import RunOptions, run_job
from jobs.stopping import StopSign
from jobs.turns import run_in_turns
from storage.errors import LeaseError
from storage.lease import acquire, this_process
from tests.jobs.test_kill import wait_for
from tests.jobs.world import World, manual

pytestmark = pytest.mark.server

OLD = {f"2025/{n}.md": manual(f"旧手册 {n}") for n in range(5)}
NEW = {"2026/new.md": manual("新手册")}


def waiting_key(world: World) -> str:
    return f"{world.ledger.lease_key}.waiting"


@dataclass
class Night(Silence):
    """The nightly run begins once the first shard of the backfill is done."""

    world: World
    reports: list = field(default_factory=list)

    def __post_init__(self) -> None:
        # Now: each look at it writes the file anew, and there will be two threads.
        self.config = self.world.config
        self.note = self.world.folder / "state" / waiting_key(self.world)

    def shard(self, result) -> None:
        if self.reports or hasattr(self, "thread"):
            return
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        wait_for(self.note.exists)

    def _run(self) -> None:
        options = RunOptions(scope=Scope(prefix="2026/"), run_id="nightly", wait_seconds=60)
        self.reports.append(run_job(self.config, options, Silence()))


def test_a_backfill_gives_way_to_a_run_that_waits_and_goes_on_behind_it(world):
    for name, text in (OLD | NEW).items():
        world.put(f"{name}.parquet", {name: text})
    night = Night(world)
    options = RunOptions(scope=Scope(prefix="2025/"), run_id="backfill", gives_way=True)

    report = run_in_turns(world.config, options, night, StopSign(), lambda _: sleep(1))

    first = world.ledger.report("backfill")
    assert first["outcome"] == "partial"
    assert first["reason"].startswith("gave way to run nightly (process ")
    assert 1 <= first["shards"]["committed"] < len(OLD)
    (nightly,) = night.reports
    assert nightly["outcome"] == report["outcome"] == "succeeded"
    assert first["shards"]["committed"] + report["shards"]["committed"] == len(OLD)
    assert world.documents().keys() == OLD.keys() | NEW.keys()
    paid = world.server.paid_texts()
    assert len(paid) == len(set(paid))


def test_an_interrupt_between_two_turns_is_the_end(world):
    for name, text in OLD.items():
        world.put(f"{name}.parquet", {name: text})
    night, sign = Night(world), StopSign()
    options = RunOptions(scope=Scope(prefix="2025/"), run_id="backfill", gives_way=True)

    def interrupted(_: float) -> None:
        night.thread.join()
        sign.reason = "interrupted"

    report = run_in_turns(world.config, options, night, sign, interrupted)

    assert (report["run_id"], report["outcome"]) == ("backfill", "partial")


def test_a_run_that_gives_way_asks_nobody_to(world):
    world.put("a.parquet", OLD)
    ledger = world.ledger
    holder = this_process("another backfill", private_workers=False)
    acquire(ledger.objects, ledger.lease_key, world.alias, holder)

    with pytest.raises(LeaseError):
        world.run(gives_way=True, wait_seconds=0.5)

    assert waiting_key(world) not in [info.key for info in ledger.objects.list("")]


def test_only_a_run_that_was_told_so_gives_way(world):
    for name, text in OLD.items():
        world.put(f"{name}.parquet", {name: text})
    night = Night(world)

    report = run_in_turns(world.config, RunOptions(), night, StopSign())

    night.thread.join()
    assert report["shards"]["committed"] == len(OLD)

"""A run that is watched from elsewhere: speed, what holds it up, time left, and its end."""

import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobs.live import outlook_line
from jobs.watch import watch
from storage.ledger import Ledger
from storage.local_objects import LocalObjectStore
from storage.protocols import Location
from storage.records import Fates, RunRecord, Tally
from tests.jobs.reports import RECORD
from tests.jobs.test_progress import plan
from tests.jobs.world import manual
from tests.servers.openai_server import Fault

BEGUN = datetime(2026, 11, 30, 2, tzinfo=UTC)


def after(seconds: float, documents: int, state: str = "running") -> RunRecord:
    progress = Tally(
        fates=Fates(stored=documents),
        chunks=3 * documents,
        tokens=900 * documents,
        seconds={"embed": 0.03 * documents, "read": 0.01 * documents},
    )
    at = (BEGUN + timedelta(seconds=seconds)).isoformat()
    return replace(
        RECORD, run_id="r", state=state, updated_at=at, shards_total=2, progress=progress
    )


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(Location(objects=LocalObjectStore(tmp_path), prefix=""), "docs")
    ledger.write_plan(plan(1000, 2))
    return ledger


def looks(ledger: Ledger, *records: RunRecord, now: datetime = BEGUN):
    coming = iter(records)
    ledger.write_run(next(coming))

    def sleep(_: float) -> None:
        ledger.write_run(next(coming))

    return list(watch(ledger, "r", every_seconds=1, sleep=sleep, clock=lambda: now))


def test_rates_and_time_left_are_those_of_the_last_minute(ledger):
    slow = [after(n * 10, n * 10) for n in range(12)]
    fast = [after(110 + n * 10, 110 + n * 100) for n in range(1, 8)]

    *_, last, end = looks(ledger, *slow, *fast, after(190, 1000, "succeeded"))

    assert last.documents_per_second == pytest.approx(10.0)
    assert last.tokens_per_second == pytest.approx(9000.0)
    assert last.seconds_left == pytest.approx((1000 - 810) / 10)
    assert last.stage_shares == (("embed", pytest.approx(0.75)), ("read", pytest.approx(0.25)))
    assert "75% of the time in embed" in outlook_line(last)
    assert outlook_line(last).endswith("0:19 left")
    assert end.is_over
    assert "left" not in outlook_line(end)


def test_a_run_that_gives_no_sign_of_life_is_said_to_be_silent(ledger):
    first, _ = looks(
        ledger, after(0, 10), after(1, 10, "failed"), now=BEGUN + timedelta(seconds=150)
    )

    assert outlook_line(first).endswith("silent for 2:30")


@pytest.mark.server
def test_a_run_is_watched_to_its_end_and_gives_its_exit_code(world):
    world.put("a.parquet", {f"{n}.md": manual(f"手册 {n}") for n in range(6)} | {"bad": "poison"})
    world.server.script(Fault(contains="poison", status=400))
    command, ledger = world.command_line("run"), world.ledger
    run = subprocess.Popen(
        command,
        cwd=world.folder,
        env=world.environment(),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        while not ledger.runs():
            assert run.poll() is None
        watched = world.command("status", "--watch", "--interval", "0.2", "--json")
    finally:
        run.wait(60)

    told = [json.loads(line) for line in watched.stdout.splitlines()]
    assert watched.returncode == run.returncode == 1, watched.stderr
    assert told[-1]["record"]["state"] == "partial"
    assert told[-1]["documents_due"] == 7

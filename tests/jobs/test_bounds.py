"""Caps, a clean stop, dead letters: a run that ends early ends well."""

import json
import os
import signal
import time

import pytest

from jobs.stopping import StopSign
from tests.jobs.test_kill import started, wait_for
from tests.jobs.world import manual
from tests.servers.openai_server import Fault

pytestmark = pytest.mark.server

CORPUS = {f"{n:02d}.md": manual(f"手册 {n}") for n in range(8)}


def fill(world):
    for name, text in CORPUS.items():
        world.put(f"{name}.parquet", {name: text})


@pytest.mark.parametrize(
    ("limits", "embedding", "named"),
    [
        ({"max_tokens": 300}, {}, "limits.max_tokens = 300"),
        ({"max_cost": 0.003}, {"cost_per_million_tokens": 10.0}, "limits.max_cost = 0.003"),
        ({"deadline_seconds": 1e-9}, {}, "limits.deadline_seconds = 1e-09"),
    ],
)
def test_a_cap_ends_the_run_partial_and_the_next_goes_on(world, limits, embedding, named):
    fill(world)
    world.settings = {"limits": limits, "embedding": embedding}

    first = world.run()

    assert first["outcome"] == "partial"
    assert named in first["reason"]
    assert first["shards"]["committed"] < 8
    world.settings = {}
    second = world.run()
    assert second["outcome"] == "succeeded"
    assert sorted(world.documents()) == sorted(CORPUS)
    paid = world.server.paid_texts()
    assert len(paid) == len(set(paid))


def test_a_stop_begins_no_further_shard_and_the_next_run_goes_on(world):
    fill(world)
    sign = StopSign()
    sign.reason = "stopped by SIGINT"

    report = world.run(sign=sign)

    assert report["outcome"] == "partial"
    assert report["shards"]["committed"] == 0
    assert report["reason"] == "stopped by SIGINT"
    assert world.run()["outcome"] == "succeeded"


@pytest.mark.parametrize("executor", ["inline", pytest.param("ray", marks=pytest.mark.cluster)])
def test_the_first_interrupt_ends_cleanly_and_what_was_committed_stays(world, executor, request):
    fill(world)
    joined = request.getfixturevalue("ray_head").joined if executor == "ray" else {}
    world.settings = {"run": {"executor": executor, "embed_texts": 1, "workers": 1}}
    world.server.script(Fault(contains="手册 1", hang_seconds=0.5))
    run = started(world, "run", "--run-id", "stopped", **joined)
    wait_for(lambda: len(world.server.paid_texts()) >= 3)
    run.send_signal(signal.SIGINT)

    assert run.wait(timeout=90) == 1
    record = world.ledger.run("stopped")
    assert record.state == "partial"
    assert "SIGINT" in record.reason
    world.server.script()
    world.settings = {}
    assert world.run()["outcome"] == "succeeded"
    paid = world.server.paid_texts()
    assert len(paid) == len(set(paid))


def test_the_second_interrupt_ends_it_at_once_and_the_next_run_goes_on(world):
    fill(world)
    world.server.script(Fault(skip=3, hang_seconds=600))
    run = started(world, "run", "--run-id", "stopped")
    wait_for(lambda: len(world.server.calls()) >= 4)
    run.send_signal(signal.SIGINT)
    told = world.folder / "told.txt"
    wait_for(lambda: "once more ends it at once" in told.read_text())
    assert run.poll() is None

    run.send_signal(signal.SIGINT)

    assert run.wait(timeout=90) == 1
    assert "Traceback" not in told.read_text()
    assert world.ledger.run("stopped").state == "partial"
    world.server.script()
    assert world.run()["outcome"] == "succeeded"
    paid = world.server.paid_texts()
    assert len(paid) == len(set(paid))


def test_a_run_that_slept_through_its_lease_commits_nothing_more(world):
    """SIGSTOP for longer than the lease; another run takes over; the sleeper wakes up."""
    fill(world)
    world.settings = {"run": {"lease_seconds": 2, "embed_texts": 2}}
    world.server.script(Fault(skip=4, times=1, hang_seconds=3))
    sleeper = started(world, "run", "--run-id", "sleeper")
    wait_for(lambda: len(world.server.calls()) >= 5)
    os.kill(sleeper.pid, signal.SIGSTOP)
    time.sleep(1)

    other = world.command("run", "--run-id", "other", "--wait", "30")

    assert other.returncode == 0, other.stderr
    rows = world.rows()
    os.kill(sleeper.pid, signal.SIGCONT)
    assert sleeper.wait(timeout=60) == 3
    assert world.rows() == rows
    assert {row.run_id for row in world.rows()} <= {"sleeper", "other"}
    assert "lost its lease" in world.ledger.run("sleeper").reason
    assert world.ledger.run("other").state == "succeeded"


def test_two_runs_of_the_same_second_do_not_mix(world):
    fill(world)
    runs = [started(world, "run", "--run-id", f"r{n}") for n in range(2)]

    codes = sorted(run.wait(timeout=120) for run in runs)

    assert codes == [0, 4]
    assert sorted(world.documents()) == sorted(CORPUS)
    paid = world.server.paid_texts()
    assert len(paid) == len(set(paid))


def test_dead_letters_are_listed_shown_and_replayed(world):
    world.put("a.parquet", {**CORPUS, "bad.md": "Some poison."})
    world.put("b.parquet", {"worse.md": "More poison.", "fine.md": "Fine."})
    world.server.script(Fault(contains="poison", status=400, message="content policy"))
    world.run()

    listed = json.loads(world.typed("dead-letters", "list", "--json").stdout)
    assert sorted(letter["document_id"] for letter in listed) == ["bad.md", "worse.md"]
    assert all("content policy" in letter["reason"] for letter in listed)
    shown = world.typed("dead-letters", "show", "bad.md")
    assert "a.parquet" in shown.stdout
    unknown = world.typed("dead-letters", "show", "fine.md")
    assert unknown.returncode == 2
    world.server.forget()
    replayed = world.typed("dead-letters", "replay", "worse.md", "--json")
    assert replayed.returncode == 0, replayed.stderr
    assert world.server.paid_texts() == ["More poison."] or len(world.server.paid_texts()) == 1
    left = json.loads(world.typed("dead-letters", "list", "--json").stdout)
    assert [letter["document_id"] for letter in left] == ["bad.md"]
    assert "No dead letter" not in world.typed("dead-letters", "list").stdout

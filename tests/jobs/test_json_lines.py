"""Structured logs: every line an object with its run, and no text of a document."""

import json
from dataclasses import replace

import pytest

from jobs.json_lines import JsonLines
from storage.records import Fates, Tally
from tests.jobs.reports import dead_letter, shard
from tests.jobs.test_progress import plan
from tests.servers.openai_server import Fault


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_shard_is_told_with_its_times_and_its_dead_without_reasons(capsys):
    now = [0.0]
    view = JsonLines(clock=lambda: now[0])
    view.begin(plan(100, 2))
    view.work(Tally(fates=Fates(stored=5)))
    now[0] = 11.0
    view.work(Tally(fates=Fates(stored=5)))
    view.shard(replace(shard(3), dead=(dead_letter(),)))
    view.shard(replace(shard(4), part=None))

    planned, progress, committed, dead, failed = lines(capsys.readouterr().err)

    assert all(line["run_id"] == "r" for line in (planned, progress, committed, dead, failed))
    assert (planned["event"], planned["documents"], planned["shards"]) == ("planned", 100, 2)
    assert (progress["event"], progress["documents"]) == ("progress", 10)
    assert (committed["shard"], committed["state"], committed["level"]) == (3, "committed", "info")
    assert committed["stage_seconds"]["embed"] == 6.0
    assert (dead["event"], dead["stage"], dead["row"]) == ("dead letter", "embed", 7)
    assert "reason" not in dead
    assert (failed["state"], failed["level"]) == ("failed", "error")


@pytest.mark.server
def test_a_run_logs_json_on_demand_and_nothing_of_its_documents(world):
    world.settings = {"run": {"log": "json"}}
    world.put("a.parquet", {"a": "Secret harvest 秘密收成.", "bad": "Refused harvest 秘密."})
    world.server.script(Fault(contains="Refused", status=400, message="Refused harvest is bad"))

    run = world.command("run", "--json")

    assert run.returncode == 1
    told = [line for line in run.stderr.splitlines() if line.startswith("{")]
    assert {line["event"] for line in lines("\n".join(told))} >= {"planned", "shard", "dead letter"}
    assert "harvest" not in run.stderr
    assert "秘密" not in run.stderr

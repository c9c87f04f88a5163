"""Metrics: what is counted, under which names, and that Ray exports them under those names."""

import re
import time
import urllib.request
from types import SimpleNamespace

import pytest

from jobs import metrics
from jobs.driver import RayExecutor
from storage.records import Fates, Tally
from tests.jobs.world import manual
from tests.servers.openai_server import Fault

WORK = Tally(
    fates=Fates(stored=3, dead=1),
    chunks=12,
    upserted=9,
    deleted=2,
    texts=7,
    tokens=700,
    reused=2,
    requests=4,
    retries=1,
    slow_downs=1,
    sentence_tokens=70,
    completion_requests=5,
    completion_tokens=50,
    seconds={"embed": 1.5, "upsert": 0.5},
)


def test_every_counter_of_work_is_read_from_the_tally():
    told = {(r.metric.name, *r.tags.values()): r.amount for r in metrics.readings(WORK)}

    assert told["kitelift_documents_total", "stored"] == 3
    assert told["kitelift_documents_total", "dead"] == 1
    assert told["kitelift_stage_seconds_total", "embed"] == 1.5
    assert told["kitelift_slow_downs_total",] == 1
    counted = {name for name, *_ in told}
    apart = {metrics.SHARDS.name}  # counted where a task ends
    assert counted | apart == {m.name for m in metrics.METRICS if m.kind == "counter"}


def test_every_number_of_a_tally_is_counted_but_those_that_only_a_report_needs():
    amounts = {r.amount for r in metrics.readings(WORK)}

    assert {12, 9, 2, 7, 700, 4, 1, 70, 5, 50, 1.5, 0.5} <= amounts


def test_names_are_told_once_and_are_names_to_prometheus():
    names = [m.name for m in metrics.METRICS]

    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"kitelift_[a-z_]+", name) for name in names)
    assert all(m.name.endswith("_total") == (m.kind == "counter") for m in metrics.METRICS)


def test_what_is_no_task_of_a_run_is_counted_too(monkeypatch):
    """The rows of vanished documents, say, which the driver deletes."""
    noted, counted = [], []
    meters = SimpleNamespace(add=counted.append)
    executor = RayExecutor(None, noted.append, None, workers=1, run={})
    monkeypatch.setattr(executor, "_meters", meters, raising=False)

    executor.count(WORK)

    assert noted == counted == [WORK]


@pytest.mark.server
@pytest.mark.cluster
def test_a_run_on_a_cluster_exports_them_while_it_goes_on(world, ray_head, submit):
    world.settings = {"run": {"executor": "ray", "shard_documents": 1, "workers": 1}}
    world.put("a.parquet", {"a": manual("手册")})
    world.put("b.parquet", {"b": "The one that waits."})
    world.server.script(Fault(contains="waits", hang_seconds=600))
    job = submit("--no-wait", "--", "run")
    assert job.returncode == 0, job.stderr
    try:
        exported = wait_for_metrics(ray_head.metrics_url, world.alias)
    finally:
        world.server.script()
        submit("--stop", job.stdout.strip())

    assert 'fate="stored"' in exported["ray_kitelift_documents_total"]
    assert 'stage="embed"' in exported["ray_kitelift_stage_seconds_total"]
    assert "run_id=" in exported["ray_kitelift_chunks_total"]


def wait_for_metrics(url: str, alias: str) -> dict[str, str]:
    """Series of this alias by name, once the first document of the run is counted."""
    deadline = time.monotonic() + 90
    while True:
        with urllib.request.urlopen(url, timeout=10) as answer:
            lines = [x for x in answer.read().decode().splitlines() if f'alias="{alias}"' in x]
        found: dict[str, str] = {}
        for line in lines:
            name = line.partition("{")[0]
            found[name] = found.get(name, "") + line
        if {"ray_kitelift_documents_total", "ray_kitelift_shards_in_flight"} <= found.keys():
            return found
        assert time.monotonic() < deadline, lines
        time.sleep(0.3)

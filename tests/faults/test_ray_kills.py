"""Workers and drivers of a real Ray, killed at edges; every edge, inline, is in tests/jobs."""

import signal
from collections import Counter

import pytest

from tests.jobs.world import World, manual

pytestmark = [pytest.mark.server, pytest.mark.cluster, pytest.mark.faults]

CORPUS = {f"{n:02d}.md": manual(f"手册 {n}") for n in range(12)}
IN_FLIGHT = 3
SETTINGS = {"run": {"executor": "ray", "workers": 2, "embed_texts": IN_FLIGHT}}


def fill(world: World) -> None:
    for start in range(0, len(CORPUS), 3):
        world.put(f"{start:02d}.parquet", dict(list(CORPUS.items())[start : start + 3]))


@pytest.fixture(scope="module")
def calm(milvus_lite_uri, _openai_server, tmp_path_factory):
    """The rows of a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("calm")
    calm = World(folder=folder, milvus_uri=milvus_lite_uri, alias="ray_calm", server=_openai_server)
    fill(calm)
    calm.run()
    return calm.rows()


def paid_twice(world):
    paid = Counter(world.server.paid_texts())
    return paid.total() - len(paid)


@pytest.mark.parametrize("edge", ["claimed", "embedded", "upserted:2", "recorded"])
def test_the_run_itself_heals_the_death_of_a_worker(world, calm, edge):
    world.settings = SETTINGS
    fill(world)
    world.server.forget()
    once = world.folder / "killed"

    run = world.command("run", "--json", KITELIFT_KILL_AT=edge, KITELIFT_KILL_ONCE=str(once))

    assert once.exists()
    assert run.returncode == 0, run.stderr
    assert world.rows() == calm
    assert paid_twice(world) <= (IN_FLIGHT if edge == "embedded" else 0)
    (record,) = world.ledger.runs()
    assert record.state == "succeeded"
    report = world.ledger.report(record.run_id)
    assert report["documents"]["stored"] == len(CORPUS)
    assert report["dead_letters"] == []


@pytest.mark.parametrize("edge", ["created", "catalogued"])
def test_the_next_run_goes_on_where_the_driver_died(world, calm, edge):
    world.settings = SETTINGS
    fill(world)
    world.server.forget()
    once = world.folder / "killed"
    killed = world.command("run", KITELIFT_KILL_AT=edge, KITELIFT_KILL_ONCE=str(once))
    assert killed.returncode == -signal.SIGKILL, killed.stderr

    world.settings = {}
    again = world.run(wait_seconds=60)

    assert again["outcome"] == "succeeded"
    assert world.rows() == calm
    assert paid_twice(world) == 0
    assert world.ledger.open_runs() == []

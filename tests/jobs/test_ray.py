"""The walk on a real Ray: the same rows whatever the workers, and deaths that stay alone."""

import sys
from collections import Counter
from pathlib import Path

import pytest
import ray.cloudpickle

from jobs.driver import _walk
from jobs.worker import Order
from tests.jobs.test_schedule import task
from tests.jobs.world import World, manual
from tests.servers.openai_server import Fault

pytestmark = [pytest.mark.server, pytest.mark.cluster]

CORPUS = {f"{n:02d}.md": manual(f"手册 {n}", sections=4) for n in range(24)}


def fill(world: World) -> None:
    items = list(CORPUS.items())
    for start in range(0, len(items), 6):
        world.put(f"{start:02d}.parquet", dict(items[start : start + 6]))


def contents(world: World):
    return [(row.chunk_id, row.content_hash, row.payload_hash) for row in world.rows()]


@pytest.mark.parametrize(("workers", "seed"), [(1, "0"), (4, "77")])
def test_the_number_of_workers_and_the_hash_seed_change_nothing(
    world, tmp_path_factory, workers, seed
):
    here = World(
        folder=tmp_path_factory.mktemp("here"),
        milvus_uri=world.milvus_uri,
        alias=f"{world.alias}_here",
        server=world.server,
    )
    fill(here)
    expected = here.run()
    world.settings = {"run": {"executor": "ray", "workers": workers, "shard_documents": 4}}
    fill(world)

    run = world.command("run", "--json", PYTHONHASHSEED=seed)

    assert run.returncode == 0, run.stderr
    assert contents(world) == contents(here)
    assert f'"total": {expected["chunks"]["total"]}' in run.stdout


def test_a_document_that_kills_its_worker_is_set_aside_by_name(world, ray_head):
    world.settings = {
        "run": {"executor": "ray", "shard_documents": 30},
        "embedding": {"class": "tests.jobs.deadly:DeadlyEmbedder"},
    }
    world.put("a.parquet", {**CORPUS, "deadly.md": "This one says: die now."})

    run = world.command("run", "--json", **ray_head.joined)

    assert run.returncode == 1, run.stderr
    report = world.ledger.report(world.ledger.runs()[-1].run_id)
    (letter,) = report["dead_letters"]
    assert (letter["document_id"], letter["stage"]) == ("deadly.md", "worker")
    assert report["documents"] == {
        "read": 25,
        "stored": 24,
        "unchanged": 0,
        "empty": 0,
        "dead": 1,
        "deleted": 0,
    }
    assert sorted(world.documents()) == sorted(CORPUS)


def test_a_refused_key_comes_back_from_the_worker_as_our_sentence(world, ray_head):
    world.settings = {"run": {"executor": "ray"}}
    fill(world)
    world.server.script(Fault(contains="手册", status=401, message="bad key"))

    run = world.command("run", **ray_head.joined)

    assert run.returncode == 3
    assert "refused the credentials" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_killed_driver_leaves_nothing_that_the_next_run_does_not_mend(world):
    from tests.jobs.test_kill import started, wait_for  # noqa: PLC0415

    world.settings = {"run": {"executor": "ray", "shard_documents": 2, "embed_texts": 4}}
    fill(world)
    world.server.script(Fault(skip=8, hang_seconds=600))
    run = started(world, "run")
    wait_for(lambda: len(world.server.calls()) >= 9)
    run.kill()
    run.wait()
    in_flight = 2 * 4
    world.server.script()

    again = world.command("run", "--json", "--wait", "60")

    assert again.returncode == 0, again.stderr
    assert sorted(world.documents()) == sorted(CORPUS)
    twice = sum(count - 1 for count in Counter(world.server.paid_texts()).values())
    assert twice <= in_flight
    report = world.ledger.report(world.ledger.runs()[-1].run_id)
    assert len(world.rows()) == report["chunks"]["total"]


def test_tasks_and_orders_travel(world):
    order = Order(
        config=world.config.model_dump_json(by_alias=True),
        milvus_uri="http://127.0.0.1:1",
        collection="c",
        lenders=(),
        model="m",
        dim=8,
    )

    walk, copy, moved = ray.cloudpickle.loads(ray.cloudpickle.dumps((_walk, order, task(3))))

    assert callable(walk)
    assert (copy, moved) == (order, task(3))


def test_no_file_but_the_driver_knows_ray():
    project = Path(__file__).parents[2]
    code = "import jobs.ingest, jobs.run, jobs.cli, sys; sys.exit('ray' in sys.modules)"
    import subprocess  # noqa: PLC0415

    assert subprocess.run([sys.executable, "-c", code], cwd=project, check=False).returncode == 0

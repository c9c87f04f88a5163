"""Kill the run and start it again: the same rows, and nothing paid twice."""

import os
import signal
import subprocess
import time
from collections import Counter

import pytest

from tests.jobs.world import manual
from tests.servers.openai_server import Fault

pytestmark = pytest.mark.server

CORPUS = {f"{n:02d}.md": manual(f"手册 {n}") for n in range(12)}
ONE_TEXT_AT_A_TIME = {"embed_texts": 4, "shard_documents": 3}


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def started(world, *words, **environment):
    """A process of its own; what it says is in `told.txt`."""
    with (world.folder / "told.txt").open("w") as told:
        return subprocess.Popen(
            world.command_line(*words),
            cwd=world.folder,
            env=world.environment(**environment),
            stdout=told,
            stderr=told,
            start_new_session=True,
        )


def fill(world):
    """Four objects, so four shards."""
    items = list(CORPUS.items())
    for start in range(0, len(items), 3):
        world.put(f"{start:02d}.parquet", dict(items[start : start + 3]))


@pytest.fixture
def undisturbed(world, tmp_path_factory):
    """The rows of a run that nobody kills."""
    other = type(world)(
        folder=tmp_path_factory.mktemp("undisturbed"),
        milvus_uri=world.milvus_uri,
        alias=f"{world.alias}_calm",
        server=world.server,
    )
    fill(other)
    other.run()
    world.server.forget()
    return other.rows()


def test_a_killed_run_is_taken_up_and_pays_for_no_text_twice(world, undisturbed):
    world.settings = {"run": ONE_TEXT_AT_A_TIME}
    fill(world)
    world.server.script(Fault(skip=6, hang_seconds=600))
    run = started(world, "run")
    wait_for(lambda: len(world.server.calls()) >= 7)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    world.server.script()

    again = world.run()

    assert again["outcome"] == "succeeded"
    assert world.rows() == undisturbed
    assert max(Counter(world.server.paid_texts()).values()) == 1
    states = [record.state for record in world.ledger.runs()]
    assert states == ["superseded", "succeeded"]
    assert world.ledger.open_runs() == []


def test_a_killed_run_goes_on_under_its_own_id_with_its_own_plan(world, undisturbed):
    world.settings = {"run": ONE_TEXT_AT_A_TIME}
    fill(world)
    world.server.script(Fault(skip=6, hang_seconds=600))
    run = started(world, "run", "--run-id", "nightly")
    wait_for(lambda: len(world.server.calls()) >= 7)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    world.server.script()
    plan = world.ledger.plan("nightly")

    again = world.run(run_id="nightly")

    assert again["outcome"] == "succeeded"
    assert world.ledger.plan("nightly") == plan
    assert world.rows() == undisturbed
    assert max(Counter(world.server.paid_texts()).values()) == 1
    taken = world.command("run", "--run-id", "nightly")
    assert taken.returncode == 2
    assert "has ended (succeeded)" in taken.stderr


def test_rows_of_a_killed_run_do_not_outlive_the_version_that_it_wrote(world, forked):
    """A crash between upsert and delete, then the source goes back to what it was."""
    world.settings = {"run": {"shard_documents": 1}}
    world.put("a.parquet", CORPUS | {"d": "The first version of d."})
    world.run()
    rows = world.rows()
    world.put("a.parquet", CORPUS | {"d": "The second version of d."})
    forked.kill(world, "upserted")
    assert sum(row.document_id == "d" for row in world.rows()) == 2
    world.put("a.parquet", CORPUS | {"d": "The first version of d."})

    world.run()

    assert world.rows() == rows

"""A run that lost its lease while Milvus was away writes nothing once both are back."""

import os
import signal
import time

import pytest

from jobs.progress import Silence
from jobs.verify import verify
from tests.faults.lite import Lite
from tests.faults.processes import running, told
from tests.jobs.test_kill import wait_for
from tests.jobs.world import World, manual
from tests.servers.openai_server import Fault

pytestmark = [pytest.mark.server, pytest.mark.faults]


def test_a_write_is_not_tried_again_once_the_lease_is_lost(tmp_path, openai_server):
    """It is stopped between two tries of an upsert, and wakes up after another run has ended."""
    milvus = Lite(tmp_path / "milvus")
    settings = {"run": {"lease_seconds": 2}}
    world = World(
        folder=tmp_path,
        milvus_uri=milvus.uri,
        alias="docs",
        server=openai_server,
        settings=settings,
    )
    world.put("a.parquet", {"d.md": manual("The first version")})
    openai_server.script(Fault(contains="Sentence", hang_seconds=600))
    try:
        with running(world, "run", "--run-id", "sleeper") as sleeper:
            wait_for(lambda: any(call.status == 0 for call in openai_server.calls()))
            milvus.kill()
            openai_server.script()
            wait_for(lambda: list(tmp_path.glob("state/docs/runs/sleeper/*/*/intents/*")))
            time.sleep(1)  # it is at the upsert now, which fails and fails
            os.kill(sleeper.pid, signal.SIGSTOP)
            milvus.start()
            world.put("a.parquet", {"d.md": manual("The second version")})
            other = world.run(wait_seconds=60)
            rows = world.rows()
            os.kill(sleeper.pid, signal.SIGCONT)

            assert sleeper.wait(timeout=60) == 3, told(world)
        assert other["outcome"] == "succeeded"
        assert world.rows() == rows
        assert "lost its lease" in world.ledger.run("sleeper").reason
        assert verify(world.config, Silence(), repair=False)["clean"]
    finally:
        milvus.kill()

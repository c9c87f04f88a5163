"""Milvus is killed in the middle of a run and started again: the run notices, and ends well."""

import subprocess
import time
from collections import Counter
from contextlib import contextmanager

import psutil
import pytest

from tests.faults.lite import Lite
from tests.faults.processes import running, told
from tests.jobs.test_kill import wait_for
from tests.jobs.world import World, manual
from tests.servers.milvus import running_milvus_235

pytestmark = [pytest.mark.server, pytest.mark.faults]

CORPUS = {f"{n:02d}.md": manual(f"手册 {n}") for n in range(30)}
DOWN_SECONDS = 5
UP_SECONDS = 240
"""Until the restarted one serves again: 2.3.5 waits a minute for its own dead sessions."""


class Standalone:
    """The Milvus 2.3.5 of the tests, a child of this process."""

    def __init__(self, uri, folder):
        self.uri = uri
        (self._wrapper,) = (
            child for child in psutil.Process().children() if f"--data={folder}" in child.cmdline()
        )
        self._command, self._environment = self._wrapper.cmdline(), self._wrapper.environ()

    def start(self):
        self._wrapper = psutil.Popen(
            self._command,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self):
        family = [*self._wrapper.children(recursive=True), self._wrapper]
        for process in family:
            process.kill()
        psutil.wait_procs(family, timeout=10)


@contextmanager
def lite(folder):
    server = Lite(folder)
    yield server
    server.kill()


@contextmanager
def standalone(folder):
    with running_milvus_235(folder) as uri:
        server = Standalone(uri, folder)
        yield server
        server.kill()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("serve", [lite, standalone])
def test_a_run_outlives_the_death_of_milvus(serve, openai_server, tmp_path_factory):
    with serve(tmp_path_factory.mktemp("milvus")) as milvus:
        world, calm = (
            World(
                folder=tmp_path_factory.mktemp(alias),
                milvus_uri=milvus.uri,
                alias=alias,
                server=openai_server,
                settings={"run": {"embed_texts": 4}, "milvus": {"retry_seconds": UP_SECONDS}},
            )
            for alias in ("killed", "calm")
        )
        for there in (world, calm):
            for start in range(0, len(CORPUS), 3):
                there.put(f"{start:02d}.parquet", dict(list(CORPUS.items())[start : start + 3]))
        with running(world, "run", "--run-id", "hit") as run:
            wait_for(lambda: committed(world) >= 3 or run.poll() is not None)
            milvus.kill()
            time.sleep(DOWN_SECONDS)
            assert run.poll() is None, told(world)
            milvus.start()

            assert run.wait(timeout=UP_SECONDS) == 0, told(world)
        paid = Counter(openai_server.paid_texts())
        calm.run()

        assert world.rows() == calm.rows()
        assert len(world.rows()) > len(CORPUS)
        assert max(paid.values()) == 1
        assert world.ledger.report("hit")["outcome"] == "succeeded"


def committed(world):
    """Shards of the run that are done."""
    return len(list(world.folder.glob("state/*/runs/hit/*/*/result.json")))

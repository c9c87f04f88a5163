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
END_SECONDS = 120
"""Until the run has ended. The restarted 2.3.5 serves after 35: it waits for its own dead sessions
before it loads a collection; the rest is the run's own pauses and work."""


class Standalone:
    """The Milvus 2.3.5 of the tests, a child of this process."""

    def __init__(self, uri, folder):
        self.uri = uri
        (wrapper,) = (
            child for child in psutil.Process().children() if f"--data={folder}" in child.cmdline()
        )
        (server,) = wrapper.children()
        self._family = [wrapper, server]
        self._command, self._environment = server.cmdline(), server.environ()
        self._folder = server.cwd()
        self._started: subprocess.Popen[bytes] | None = None

    def start(self):
        """The server alone: its wrapper would take the next port while the old one lingers."""
        self._started = subprocess.Popen(
            self._command,
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self):
        for process in self._family:
            process.kill()
        psutil.wait_procs(self._family, timeout=10)
        self._family = []
        if self._started:
            self._started.kill()
            self._started.wait()


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


@pytest.mark.parametrize("serve", [lite, standalone])
def test_a_run_outlives_the_death_of_milvus(serve, openai_server, tmp_path_factory):
    with serve(tmp_path_factory.mktemp("milvus")) as milvus:
        world, calm = (
            World(
                folder=tmp_path_factory.mktemp(alias),
                milvus_uri=milvus.uri,
                alias=alias,
                server=openai_server,
                settings={"run": {"embed_texts": 4}},
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

            assert run.wait(timeout=END_SECONDS) == 0, told(world)
        paid = Counter(openai_server.paid_texts())
        calm.run()

        assert world.rows() == calm.rows()
        assert len(world.rows()) > len(CORPUS)
        assert max(paid.values()) == 1
        assert world.ledger.report("hit")["outcome"] == "succeeded"


def committed(world):
    """Shards of the run that are done."""
    return len(list(world.folder.glob("state/*/runs/hit/*/*/result.json")))

"""CASES C121: a node of the cluster goes away under load, with all that it was doing."""

import os
import time
from collections import Counter

import pytest
from ray.cluster_utils import Cluster

from tests.faults.processes import running, told
from tests.jobs.test_kill import wait_for
from tests.jobs.world import PROJECT, manual
from tests.servers.openai_server import Fault

pytestmark = [pytest.mark.server, pytest.mark.cluster, pytest.mark.faults]

CORPUS = {f"{n:02d}.md": manual(f"手册 {n}") for n in range(18)}
RUN_SECONDS = 120
IN_FLIGHT = 4
"""Texts of the one request of a worker."""
NODE = {
    "num_cpus": 1,
    "object_store_memory": 80 * 2**20,
    "node_ip_address": "127.0.0.1",
    "include_dashboard": False,
}


@pytest.fixture
def cluster(monkeypatch):
    """Three nodes of one CPU each; the driver joins the first."""
    path = os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)  # workers inherit it from their node
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    try:
        yield cluster
    finally:
        cluster.shutdown()


def test_what_a_lost_node_was_doing_is_done_elsewhere_and_nothing_twice(
    world, cluster, tmp_path_factory
):
    lost = [cluster.add_node(**NODE) for _ in range(2)]
    cluster.wait_for_nodes()
    world.settings = {
        "run": {"executor": "ray", "shard_documents": 3, "embed_texts": IN_FLIGHT},
        "embedding": {"concurrent_requests": 1},
    }
    for start in range(0, len(CORPUS), 3):
        world.put(f"{start:02d}.parquet", dict(list(CORPUS.items())[start : start + 3]))
    world.server.script(Fault(contains="Sentence", skip=3, hang_seconds=600))
    with running(world, "run", "--run-id", "lossy", **joining(cluster)) as run:
        wait_for(lambda: hanging(world) >= 3 or run.poll() is not None, seconds=60)
        begun = time.monotonic()

        for node in lost:
            cluster.remove_node(node, allow_graceful=False)
        world.server.script()

        assert run.wait(timeout=RUN_SECONDS) == 0, told(world)
    assert time.monotonic() - begun < RUN_SECONDS
    calm = type(world)(
        folder=tmp_path_factory.mktemp("calm"),
        milvus_uri=world.milvus_uri,
        alias=f"{world.alias}_calm",
        server=world.server,
    )
    paid = Counter(world.server.paid_texts())
    for key in [info.key for info in world.source.list("")]:
        calm.source.put(key, world.source.get(key)[0])
    calm.run()
    assert world.rows() == calm.rows()
    assert sum(paid.values()) - len(paid) <= len(lost) * IN_FLIGHT
    report = world.ledger.report("lossy")
    assert report["outcome"] == "succeeded"
    assert report["shards"] == {"total": 6, "committed": 6, "failed": 0, "skipped": 0}


def joining(cluster):
    """The environment of a driver.

    The nodes listen on loopback, and Ray would turn that into another address of this machine,
    did it not take it for one that cannot have clusters.
    """
    port = cluster.address.rpartition(":")[2]
    return {"RAY_ADDRESS": f"127.0.0.1:{port}", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


def hanging(world):
    """Requests that were never answered."""
    return sum(call.status == 0 for call in world.server.calls())

"""A fresh world for each test, on the session's servers."""

import uuid

import pytest

from tests.jobs.forked import forks
from tests.jobs.world import World


@pytest.fixture
def world(tmp_path, milvus_lite_uri, openai_server):
    return World(
        folder=tmp_path,
        milvus_uri=milvus_lite_uri,
        alias=f"t{uuid.uuid4().hex[:12]}",
        server=openai_server,
    )


@pytest.fixture(scope="session")
def forked():
    """Runs that are going to be killed, in a second each."""
    with forks() as forked:
        yield forked


@pytest.fixture
def submit(world, ray_head):
    """`kitelift submit …` to the cluster of the session."""

    def submit(*words, **environment):
        at = ("submit", "--address", ray_head.address)
        return world.typed(*at, *words, RAY_AUTH_MODE="disabled", **environment)

    return submit

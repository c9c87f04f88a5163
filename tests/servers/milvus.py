"""Vector databases: in this process, Milvus Lite, and the real Milvus 2.3.5 (or `MILVUS_URI`)."""

import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from storage.errors import StorageError
from storage.memory_vectors import MemoryVectorDatabase
from storage.milvus_lite import serve
from storage.milvus_settings import MilvusSettings
from storage.protocols import CollectionSpec, VectorDatabase, VectorStore
from storage.vectors import connect

SPEC = CollectionSpec(dim=8, fingerprint="abc123", model="test-model@1")


@dataclass(kw_only=True)
class Backend:
    """A database, a collection of SPEC that tests share, and what else they need of either."""

    database: VectorDatabase
    uri: str = ""
    """Empty for the one in this process."""
    _shared: list[str] = field(default_factory=list)
    _made: list[str] = field(default_factory=list)

    def store(self) -> VectorStore:
        """The shared collection: a test uses documents of its own in it."""
        return self.database.open(self.shared_collection())

    def shared_collection(self, number: int = 0) -> str:
        """One that stays: making one costs a real server two seconds."""
        while len(self._shared) <= number:
            self._shared.append(self.new_collection())
        return self._shared[number]

    def new_collection(self, spec: CollectionSpec = SPEC) -> str:
        name = self.new_name()
        self.database.create(name, spec)
        return name

    def new_name(self) -> str:
        self._made.append(f"t_{uuid.uuid4().hex}")
        return self._made[-1]

    def drop_all(self) -> None:
        for name in self._made:
            with suppress(StorageError):  # an alias may still point to it
                self.database.drop(name)


@pytest.fixture(scope="session")
def milvus_lite_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve(tmp_path_factory.mktemp("milvus-lite")) as uri:
        yield uri


@pytest.fixture(scope="session")
def milvus_235_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server: the one named by MILVUS_URI, or 2.3.5 as a child of this process."""
    if uri := os.environ.get("MILVUS_URI"):
        yield uri
        return
    with running_milvus_235(tmp_path_factory.mktemp("milvus-235")) as uri:
        yield uri


@contextmanager
def running_milvus_235(folder: Path, ca_file: str = "", **environment: str) -> Iterator[str]:
    """Start the standalone server of the wheel `milvus`, and end it with its own child.

    `ca_file` is for one that speaks TLS only, as its environment says. Its parts listen on ports of
    their own each, so that several can run on one machine: the wheel picks free ones, but leaves
    the embedded etcd on 2379 and 2380.
    """
    ports = {name: _free_port() for name in (*_PORTS, "peer")}
    etcd = folder / "etcd.yaml"
    etcd.write_text(_ETCD.format(client=ports["etcd"], peer=ports["peer"]))
    options = [f"--{name}-port={ports[name]}" for name in _PORTS]
    with (folder / "server.log").open("wb") as log:
        wrapper = subprocess.Popen(
            [Path(sys.executable).with_name("milvus-server"), f"--data={folder}", *options],
            env={**os.environ, "ETCD_CONFIG_PATH": str(etcd), **environment},
            stdout=log,
            stderr=log,
        )
    uri = f"{'https' if ca_file else 'http'}://127.0.0.1:{ports['proxy']}"
    try:
        _wait_until_it_answers(uri, ca_file, wrapper)
        yield uri
    finally:
        if wrapper.poll() is None:  # a test may have killed it
            children = psutil.Process(wrapper.pid).children(recursive=True)
            for process in (*children, wrapper):
                process.kill()
            psutil.wait_procs(children, timeout=10)
        wrapper.wait()


_PORTS = (
    "proxy", "proxy-internal", "etcd", "root-coord", "query-coord", "query-node", "index-coord",
    "index-node", "data-coord", "data-node",
)  # fmt: skip
_ETCD = """
listen-client-urls: http://127.0.0.1:{client}
advertise-client-urls: http://127.0.0.1:{client}
listen-peer-urls: http://127.0.0.1:{peer}
initial-advertise-peer-urls: http://127.0.0.1:{peer}
initial-cluster: default=http://127.0.0.1:{peer}
"""


def _wait_until_it_answers(
    uri: str, ca_file: str, process: "subprocess.Popen[bytes]", seconds: float = 120.0
) -> None:
    settings = MilvusSettings(uri=uri, ca_file=ca_file, connect_seconds=1, retry_seconds=0)
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        try:
            connect(settings).close()
        except StorageError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return
    raise RuntimeError(f"milvus-server ended at once; see the logs beside {process.args}")


@pytest.fixture(scope="session")
def memory_backend() -> Backend:
    return Backend(database=MemoryVectorDatabase())


@pytest.fixture(scope="session")
def milvus_lite_backend(milvus_lite_uri: str) -> Iterator[Backend]:
    yield from _connected(milvus_lite_uri)


@pytest.fixture(scope="session")
def milvus_235_backend(milvus_235_uri: str) -> Iterator[Backend]:
    yield from _connected(milvus_235_uri)


@pytest.fixture(
    params=[
        "memory",
        pytest.param("milvus_lite", marks=pytest.mark.server),
        pytest.param("milvus_235", marks=pytest.mark.server),
    ]
)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each vector database in turn: what holds for one must hold for all."""
    found = request.getfixturevalue(f"{request.param}_backend")
    assert isinstance(found, Backend)
    return found


@pytest.fixture
def vector_database(backend: Backend) -> VectorDatabase:
    return backend.database


@pytest.fixture
def store(backend: Backend) -> VectorStore:
    return backend.store()


@pytest.fixture
def free_port() -> int:
    return _free_port()


def _connected(uri: str) -> Iterator[Backend]:
    database = connect(MilvusSettings(uri=uri))
    backend = Backend(database=database, uri=uri)
    yield backend
    backend.drop_all()
    database.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

"""Vector databases: in this process, Milvus Lite, and the real Milvus 2.3.5 (or `MILVUS_URI`)."""

import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from storage.errors import StorageError
from storage.memory_vectors import MemoryVectorDatabase
from storage.milvus_lite import serve
from storage.milvus_schema import abilities_of
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
    _shared: str = ""
    _made: list[str] = field(default_factory=list)

    @property
    def bm25(self) -> bool:
        return bool(self.uri) and abilities_of(self.database.version).bm25

    def store(self) -> VectorStore:
        """The shared collection: a test uses documents of its own in it."""
        if not self._shared:
            self._shared = self.new_collection()
        return self.database.open(self._shared)

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
    from milvus import MilvusServer, MilvusServerConfig  # noqa: PLC0415 (only where it is started)

    data_dir = str(tmp_path_factory.mktemp("milvus-235"))
    server = MilvusServer(MilvusServerConfig(), data_dir=data_dir, proxy_port=_free_port())
    server.start()  # returns once it is healthy; the server is our child, with no wrapper between
    yield f"http://127.0.0.1:{server.listen_port}"
    server.stop()


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

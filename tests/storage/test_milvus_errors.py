"""What Milvus says, in our words and with the right fate; and when a call is made again."""

import http.server
import pickle
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import grpc
import pytest
import stamina
from pymilvus import DataType, MilvusClient, MilvusException
from pymilvus.exceptions import CollectionNotExistException, DataNotMatchException

from storage.errors import (
    AccessRefusedError,
    CollectionMismatchError,
    Fate,
    SettingError,
    SlowDownError,
    StorageError,
    StoreUnavailableError,
    UnexpectedAnswerError,
)
from storage.milvus_errors import NotLoadedError, our_errors
from storage.milvus_lite import serve
from storage.milvus_schema import abilities_of
from storage.milvus_settings import MilvusSettings
from storage.vectors import connect
from tests.servers.milvus import SPEC
from tests.storage.chunks import a_chunk, put, some_vectors, unused_document

ENDPOINT = "http://milvus:19530"
QUICK = {"retry_seconds": 0, "connect_seconds": 1, "timeout_seconds": 1}


def translated(error):
    with pytest.raises(StorageError) as caught, our_errors(ENDPOINT, "the upsert", "docs_1"):
        raise error
    return caught.value


class RpcFault(grpc.RpcError):
    def __init__(self, status, details=""):
        self._status, self._details = status, details

    def code(self):
        return self._status

    def details(self):
        return self._details


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MilvusException(8, "request is rejected by limiter"), SlowDownError),
        (MilvusException(9, "quota exceeded, deny to write"), SlowDownError),
        (MilvusException(3, "memory limit exceeded"), SlowDownError),
        (MilvusException(65535, "rate limit", 49), SlowDownError),
        (RpcFault(grpc.StatusCode.RESOURCE_EXHAUSTED, "too busy"), SlowDownError),
        (MilvusException(2, "Fail connecting to server"), StoreUnavailableError),
        (
            MilvusException(1, "service not ready[standalone=1]: Initializing"),
            StoreUnavailableError,
        ),
        (MilvusException(503, "channel not available"), StoreUnavailableError),
        (MilvusException(65535, "no such luck", retriable=True), StoreUnavailableError),
        (MilvusException(grpc.StatusCode.UNAVAILABLE, "Retry timeout"), StoreUnavailableError),
        (RpcFault(grpc.StatusCode.UNAVAILABLE, "connection refused"), StoreUnavailableError),
        (RpcFault(grpc.StatusCode.DEADLINE_EXCEEDED), StoreUnavailableError),
        (grpc.FutureTimeoutError(), StoreUnavailableError),
        (MilvusException(101, "collection not loaded"), NotLoadedError),
        (MilvusException(1400, "not authenticated"), AccessRefusedError),
        (MilvusException(65535, "auth check failure, please check api key"), AccessRefusedError),
        (RpcFault(grpc.StatusCode.UNAUTHENTICATED, "auth"), AccessRefusedError),
        (RpcFault(grpc.StatusCode.PERMISSION_DENIED, "no privilege"), AccessRefusedError),
        (MilvusException(100, "collection not found"), CollectionMismatchError),
        (MilvusException(108, "schema mismatch"), CollectionMismatchError),
        (DataNotMatchException(1, "Insert missed an field `n`"), CollectionMismatchError),
        (CollectionNotExistException(100, "collection not found"), CollectionMismatchError),
        (MilvusException(6, "vector field 'dense' expected dim 8, got 9"), CollectionMismatchError),
        (
            MilvusException(65535, "the length(9) of float data should divide the dim(8)"),
            CollectionMismatchError,
        ),
        (MilvusException(800, "database not found[database=x]"), SettingError),
        (RpcFault(grpc.StatusCode.UNIMPLEMENTED, "404"), SettingError),
        (MilvusException(1100, "something else"), UnexpectedAnswerError),
        (RpcFault(grpc.StatusCode.RESOURCE_EXHAUSTED, "larger than max"), UnexpectedAnswerError),
        (ValueError("Cannot invoke RPC on closed channel!"), UnexpectedAnswerError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value)[:60],
)
def test_each_answer_of_milvus_has_its_fate(error, expected):
    ours = translated(error)

    assert type(ours) is expected
    assert str(pickle.loads(pickle.dumps(ours))) == str(ours)
    assert "\n" not in str(ours)


def test_an_error_of_ours_passes_unchanged():
    error = SettingError("milvus.uri", "reason", "advice")

    assert translated(error) is error


@pytest.mark.parametrize(
    ("version", "lite", "bm25", "inverted"),
    [
        ("milvus_lite-3.2.2", True, True, True),
        ("v2.3.5-lite", False, False, False),
        ("v2.4.15", False, False, True),
        ("v2.5.0-beta", False, True, True),
        ("2.6.1", False, True, True),
        ("v10.0", False, True, True),
        ("vaas", False, True, True),
    ],
)
def test_what_a_server_can_do_is_read_off_its_version(version, lite, bm25, inverted):
    abilities = abilities_of(version)

    assert (abilities.lite, abilities.bm25, abilities.inverted_index) == (lite, bm25, inverted)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"uri": "ftp://milvus:19530"}, "http"),
        ({"uri": "http://"}, "http"),
        ({"uri": "http://root:secret@milvus:19530"}, "KITELIFT_MILVUS_TOKEN"),
        ({"uri": "http://milvus:19530", "ca_file": "ca.pem"}, "https"),
        ({"collection": "two words"}, "collection"),
        ({"retry_seconds": -1}, "retry_seconds"),
        ({"tokn": "x"}, "tokn"),
    ],
)
def test_settings_that_cannot_work_are_refused_when_they_are_made(changes, said):
    with pytest.raises(ValueError, match=said):
        MilvusSettings(**changes)


def test_settings_travel_to_the_workers_and_hold_no_secret(monkeypatch):
    monkeypatch.setenv("KITELIFT_MILVUS_TOKEN", "root:s3cret")
    settings = MilvusSettings(uri="https://milvus:19530", ca_file="ca.pem")

    assert pickle.loads(pickle.dumps(settings)) == settings
    assert "s3cret" not in repr(settings) + settings.model_dump_json()


# Real sockets


def test_a_wrong_address_is_named_within_its_time(free_port):
    settings = MilvusSettings(uri=f"http://127.0.0.1:{free_port}", connect_seconds=1)
    start = time.monotonic()

    with pytest.raises(StoreUnavailableError, match=f"127.0.0.1:{free_port}"):
        connect(settings)
    assert time.monotonic() - start < 10  # a bound on patience, not on speed


def test_a_server_that_never_answers_is_given_up_within_its_time():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        settings = MilvusSettings(uri=f"http://127.0.0.1:{port}", **QUICK)

        with pytest.raises(StoreUnavailableError, match=f"127.0.0.1:{port}"):
            connect(settings)


def test_a_web_server_is_not_taken_for_milvus():
    with _web_server() as port:
        settings = MilvusSettings(uri=f"http://127.0.0.1:{port}", **QUICK)
        with pytest.raises(StorageError, match=f"127.0.0.1:{port}"):
            connect(settings)


def test_a_path_is_not_an_address():
    with pytest.raises(ValueError, match=r"milvus\.db.*path"):
        connect(MilvusSettings(uri="./milvus.db"))


DATABASE_CALLS = {
    "describe": lambda d: d.describe("docs"),
    "create": lambda d: d.create("docs", SPEC),
    "open": lambda d: d.open("docs"),
    "collections": lambda d: d.collections(),
    "drop": lambda d: d.drop("docs"),
    "alias_target": lambda d: d.alias_target("docs"),
    "point_alias": lambda d: d.point_alias("docs", "docs_1"),
}
STORE_CALLS = {
    "upsert": lambda s: put(s, [a_chunk()]),
    "delete": lambda s: s.delete(["x"]),
    "keys_of": lambda s: s.keys_of(["x"]),
    "vectors_of": lambda s: s.vectors_of(["x"]),
    "scan": lambda s: list(s.scan()),
    "search": lambda s: s.search(text="", vector=some_vectors(1)[0], mode="dense", top_k=1),
}


@pytest.mark.server
def test_no_call_lets_a_foreign_error_out_when_the_server_is_gone(tmp_path):
    with serve(tmp_path) as uri:
        database = connect(MilvusSettings(uri=uri, **QUICK))
        database.create("docs_1", SPEC)
        store = database.open("docs_1")

    outcomes = {}
    for target, calls in ((database, DATABASE_CALLS), (store, STORE_CALLS)):
        for name, call in calls.items():
            with pytest.raises(StorageError) as caught:
                call(target)
            outcomes[name] = (type(caught.value), uri in str(caught.value))
    assert outcomes == dict.fromkeys(DATABASE_CALLS | STORE_CALLS, (StoreUnavailableError, True))
    database.close()
    database.close()  # twice is once


@pytest.mark.server
def test_an_upsert_outlasts_a_killed_and_restarted_server(tmp_path, free_port, lite_servers):
    document = unused_document()
    lite_servers.append(_lite_on(tmp_path, free_port))
    database = connect(MilvusSettings(uri=f"http://127.0.0.1:{free_port}", retry_seconds=60))
    database.create("docs_1", SPEC)
    store = database.open("docs_1")
    put(store, [a_chunk(document, 0)])

    lite_servers[0].kill()
    lite_servers[0].wait()
    again = threading.Timer(1.5, lambda: lite_servers.append(_lite_on(tmp_path, free_port)))
    again.start()
    put(store, [a_chunk(document, 1)])  # while nobody listens

    assert len(store.keys_of([document])) == 2  # and loaded again by itself
    again.join()
    database.close()


@pytest.fixture
def lite_servers():
    servers = []
    yield servers
    for server in servers:
        server.kill()
        server.wait()


# Retries


def test_a_server_that_asks_for_less_is_asked_again(milvus_lite_backend):
    calls = milvus_lite_backend.database._calls
    answers = iter([MilvusException(8, "rate limit"), MilvusException(9, "deny"), "done"])

    def method(timeout):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with stamina.set_testing(testing=True, attempts=5):  # without the waits
        assert calls.ask("the upsert", method) == "done"


def test_what_a_retry_cannot_mend_is_not_tried_again(milvus_lite_backend):
    calls, tries = milvus_lite_backend.database._calls, []

    def method(timeout):
        tries.append(timeout)
        raise MilvusException(1400, "not authenticated")

    with stamina.set_testing(testing=True, attempts=5), pytest.raises(AccessRefusedError):
        calls.ask("the upsert", method)
    assert tries == [60.0]


# What others did to the collection


@pytest.mark.server
@pytest.mark.parametrize("server", ["milvus_lite", "milvus_235"])
def test_a_released_collection_without_index_is_mended_and_not_taken_for_empty(server, request):
    backend = request.getfixturevalue(f"{server}_backend")
    name, chunk = backend.new_collection(), a_chunk()
    store = backend.database.open(name)
    with _client(backend.uri) as client:
        client.release_collection(name)
        put(store, [chunk])  # an upsert needs no loaded collection
        assert [key.chunk_id for key in store.keys_of(["guide"])] == [chunk.chunk_id]
        client.release_collection(name)
        client.drop_index(name, "dense")

    again = backend.database.open(name)
    assert [key.chunk_id for key in again.keys_of(["guide"])] == [chunk.chunk_id]


@pytest.mark.server
@pytest.mark.parametrize("server", ["milvus_lite", "milvus_235"])
def test_a_foreign_collection_is_never_taken_for_ours(server, request):
    backend = request.getfixturevalue(f"{server}_backend")
    name = backend.new_name()
    with _client(backend.uri) as client:
        schema = client.create_schema(description="somebody's")
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=8)
        client.create_collection(name, schema=schema)

    for call in (
        lambda: backend.database.describe(name),
        lambda: backend.database.open(name),
        lambda: backend.database.create(name, SPEC),
    ):
        with pytest.raises(CollectionMismatchError, match="not made by kitelift"):
            call()
    assert name in backend.database.collections()


@pytest.mark.server
@pytest.mark.parametrize("server", ["milvus_lite", "milvus_235"])
def test_a_collection_made_anew_with_another_dimension_stops_the_run(server, request):
    backend = request.getfixturevalue(f"{server}_backend")
    name = backend.new_collection()
    store = backend.database.open(name)
    put(store, [a_chunk()])
    backend.database.drop(name)
    backend.database.create(name, type(SPEC)(dim=16, fingerprint="x", model="y"))

    with pytest.raises(CollectionMismatchError) as caught:
        put(store, [a_chunk(index=1)])
    assert caught.value.fate is Fate.STOP
    assert backend.database.open(name).keys_of(["guide"]) == []


@contextmanager
def _client(uri):
    client = MilvusClient(uri=uri, dedicated=True)
    yield client
    client.close()


def _lite_on(folder, port):
    """A Milvus Lite of its own on a known port, so that it can come back there."""
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "milvus_lite", "server"),
            *(f"--data-dir={folder}", "--host=127.0.0.1", f"--port={port}"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return server
        time.sleep(0.05)
    raise RuntimeError("Milvus Lite ended at once")


@contextmanager
def _web_server():
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler
    ) as web:
        web.RequestHandlerClass.log_message = lambda *_: None
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        yield web.server_port
        web.shutdown()
        thread.join()

"""Stores, and clients of a model, that several files of tests ask for."""

from pathlib import Path

import pytest

from storage.embeddings import EmbeddingSettings, open_embedder
from storage.local_objects import LocalObjectStore
from storage.protocols import ObjectStore
from storage.s3_objects import S3ObjectStore


@pytest.fixture
def local(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "store")


@pytest.fixture(
    params=[
        "local",
        pytest.param("s3", marks=pytest.mark.server),
        pytest.param("rclone", marks=pytest.mark.server),
    ]
)
def objects(request) -> ObjectStore:
    """Each store in turn: what holds for one must hold for all."""
    if request.param == "local":
        return request.getfixturevalue("local")
    return S3ObjectStore(
        request.getfixturevalue(f"{request.param}_bucket"),
        request.getfixturevalue(f"{request.param}_settings"),
    )


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.server)])
def safe(request) -> ObjectStore:
    """Each store whose conditional writes hold."""
    if request.param == "local":
        return request.getfixturevalue("local")
    return S3ObjectStore(
        request.getfixturevalue("s3_bucket"), request.getfixturevalue("s3_settings")
    )


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.now = 1_700_000_000.0
        self.waits = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds


@pytest.fixture
def no_keys(monkeypatch):
    """No keys of whoever runs the tests."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("KITELIFT_EMBEDDING_API_KEY", raising=False)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def open_(openai_server, clock):
    """An embedder of 32 dimensions that knows them; one request at a time."""

    def open_(*, dim=32, throttle=None, **changes):
        settings = EmbeddingSettings(
            **{
                "provider": "openai",
                "model": "hash-32",
                "base_url": openai_server.base_url,
                "concurrent_requests": 1,
                "timeout_seconds": 20.0,
            }
            | changes
        )
        return open_embedder(settings, dim=dim, throttle=throttle, sleep=clock.sleep, clock=clock)

    return open_

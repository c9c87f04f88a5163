"""Secrets stay where they are, TLS is checked, and a run needs only the rights that it is given."""

import json
import os
import shutil
import tempfile
import threading
from pathlib import Path

import boto3
import pytest

from storage.s3_objects import S3Settings
from tests.jobs.test_notify import hook  # noqa: F401 - a fixture
from tests.jobs.world import PROJECT, World, manual
from tests.servers.openai_server import Fault
from tests.servers.s3 import REGION, make_bucket

pytestmark = pytest.mark.server

PLANTED = {
    "KITELIFT_EMBEDDING_API_KEY": "sk-planted-embedding-0f1e2d3c",
    "KITELIFT_COMPLETION_API_KEY": "sk-planted-completion-8c7b6a59",
    "KITELIFT_MILVUS_TOKEN": "root:planted-milvus-4b5a6978",
}
HOOK_SECRET = "s3cr3t"


@pytest.fixture
def secrets(s3_endpoint):
    """Every secret that a run is given: the values that must be found nowhere."""
    return [
        *PLANTED.values(),
        "planted-milvus-4b5a6978",
        os.environ["AWS_SECRET_ACCESS_KEY"],
        os.environ["AWS_ACCESS_KEY_ID"],
    ]


@pytest.fixture
def in_buckets(world, s3_endpoint, s3_settings):
    """A world whose source and state are in a bucket."""
    bucket = make_bucket(s3_endpoint)
    world.settings = {
        "source": {"uri": f"s3://{bucket}/parsed"},
        "state": {"uri": f"s3://{bucket}/kitelift"},
        "s3": {"endpoint_url": s3_endpoint, "region": REGION},
    }
    world.put("a.parquet", {f"{n}.md": manual(f"手册 {n}") for n in range(3)})
    world.put("b.parquet", {"bad": "This is poison. 毒。"})
    upload(world, s3_endpoint, bucket)
    return world


def upload(world: World, endpoint: str, bucket: str) -> None:
    client = boto3.client("s3", endpoint_url=endpoint, region_name=REGION)
    for path in sorted((world.folder / "parsed").glob("*.parquet")):
        client.upload_file(str(path), bucket, f"parsed/{path.name}")
    client.close()


def everything_in(bucket_uri: str, endpoint: str) -> bytes:
    client = boto3.client("s3", endpoint_url=endpoint, region_name=REGION)
    bucket = bucket_uri.removeprefix("s3://").partition("/")[0]
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix="kitelift/")
    keys = [item["Key"] for page in pages for item in page.get("Contents", ())]
    bodies = [client.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys]
    client.close()
    assert any(key.endswith("report.json") for key in keys)
    return b"\n".join([*map(str.encode, keys), *bodies])


def everything_below(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


class ProcessList:
    """What `ps` shows to anyone on this machine while the context lasts.

    Of every process, since a daemon of Ray is nobody's child for long. No other has these secrets:
    the servers of the tests get theirs by their environment.
    """

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.2):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    self.seen.add(path.read_bytes().replace(b"\0", b" "))
                except OSError:  # it ended meanwhile
                    continue


@pytest.mark.cluster
def test_no_secret_is_found_in_ledger_logs_reports_process_list_or_webhook(
    in_buckets,
    secrets,
    hook,  # noqa: F811
):
    world = in_buckets
    world.settings["run"] = {"executor": "ray", "log": "json"}
    key = PLANTED["KITELIFT_EMBEDDING_API_KEY"]
    world.server.script(Fault(contains="poison", status=400, message=f"not for {key}"))
    ray_folder = Path(tempfile.mkdtemp(prefix="kl"))  # socket paths must be short
    try:
        with ProcessList() as processes:
            run = world.command(
                "run",
                "--json",
                **PLANTED,
                KITELIFT_NOTIFY_URL=hook.url,
                RAY_TMPDIR=str(ray_folder),
            )
        page = world.folder / "night.html"
        told = world.typed("report", "--html", str(page), **PLANTED)
        ray_logs = everything_below(ray_folder)
    finally:
        shutil.rmtree(ray_folder, ignore_errors=True)
    assert run.returncode == 1, run.stderr
    assert told.returncode == 0, told.stderr
    assert {call.authorization for call in world.server.calls()} == {f"Bearer {key}"}
    assert len(hook.heard) == 1
    assert any(b"-m jobs run" in line for line in processes.seen)
    assert ray_logs

    places = {
        "the ledger": everything_in(
            world.settings["state"]["uri"], world.settings["s3"]["endpoint_url"]
        ),
        "stdout and stderr": (run.stdout + run.stderr + told.stdout + told.stderr).encode(),
        "the page": page.read_bytes(),
        "the process list": b"\n".join(processes.seen),
        "the webhook": json.dumps(hook.heard).encode(),
        "Ray's logs": ray_logs,
    }
    for place, content in places.items():
        for secret in (*secrets, HOOK_SECRET):
            assert secret.encode() not in content, f"{secret} is in {place}"


class TestTls:
    @pytest.fixture
    def behind_tls(self, in_buckets, with_tls, authority):
        world = in_buckets
        s3 = world.settings["s3"]
        s3["endpoint_url"] = with_tls(s3["endpoint_url"])
        s3["ca_bundle"] = str(authority.ca_file)
        world.settings["embedding"] = {"base_url": with_tls(world.server.base_url)}
        return world

    def test_a_run_goes_through_tls_under_an_authority_of_ones_own(self, behind_tls, authority):
        run = behind_tls.typed("run", SSL_CERT_FILE=str(authority.ca_file))

        assert run.returncode == 0, run.stderr
        assert len(behind_tls.documents()) == 4

    def test_an_object_store_whose_authority_is_unknown_is_not_spoken_to(self, behind_tls):
        behind_tls.settings["s3"]["ca_bundle"] = ""

        run = behind_tls.typed("run")

        assert run.returncode == 3
        assert "certificate" in run.stderr.lower()

    def test_an_embedding_endpoint_whose_authority_is_unknown_gets_no_key(self, behind_tls):
        behind_tls.settings["embedding"] |= {"max_attempts": 1}

        run = behind_tls.typed("run", **PLANTED)

        assert run.returncode == 3
        assert "certificate" in run.stderr.lower()
        assert behind_tls.server.calls() == []


def test_the_policy_of_the_runbook_is_enough_for_a_run_and_does_not_let_it_touch_the_source(
    world, s3_endpoint
):
    policy = json.loads((PROJECT / "infra" / "compose" / "minio-policy.json").read_text())
    bucket = make_bucket(s3_endpoint)
    text = json.dumps(policy).replace("arn:aws:s3:::corpus", f"arn:aws:s3:::{bucket}")
    iam = boto3.client("iam", endpoint_url=s3_endpoint, region_name=REGION)
    name = f"least-{bucket}"
    iam.create_user(UserName=name)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    iam.put_user_policy(UserName=name, PolicyName="least", PolicyDocument=text)
    iam.close()
    world.settings = {
        "source": {"uri": f"s3://{bucket}/parsed"},
        "state": {"uri": f"s3://{bucket}/kitelift"},
        "s3": S3Settings(endpoint_url=s3_endpoint, region=REGION).model_dump(exclude_defaults=True),
    }
    world.put("a.parquet", {f"{n}.md": manual(f"手册 {n}") for n in range(3)})
    upload(world, s3_endpoint, bucket)
    keys = {
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
    }

    first = world.typed("run", **keys)
    again = world.typed("run", "--full", **keys)
    convert = world.typed(
        "convert", str(PROJECT / "README.md"), "--to", f"s3://{bucket}/parsed", **keys
    )

    assert first.returncode == again.returncode == 0, first.stderr + again.stderr
    assert world.documents().keys() == {"0.md", "1.md", "2.md"}
    assert convert.returncode != 0
    assert "AccessDenied" in convert.stderr or "credentials" in convert.stderr

"""Real manuals through a real S3 endpoint, a real Ray and a real Milvus, as a person does it."""

import json
from pathlib import Path

import pytest

from tests.jobs.world import PROJECT, World

pytestmark = [pytest.mark.server, pytest.mark.cluster]

MANUALS = PROJECT.parent / "shared" / "data" / "markdown"


@pytest.fixture(params=["milvus_lite_uri", "milvus_235_uri"], ids=["lite", "milvus-2.3.5"])
def milvus_uri(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def cloud(world, milvus_uri, s3_settings, s3_bucket) -> World:
    """Source and state in one bucket, the local model, Ray."""
    world.milvus_uri = milvus_uri
    world.settings = {
        "source": {"uri": f"s3://{s3_bucket}/parsed"},
        "state": {"uri": f"s3://{s3_bucket}/kitelift"},
        "s3": {"endpoint_url": s3_settings.endpoint_url, "region": s3_settings.region},
        "run": {"executor": "ray", "shard_documents": 4},
    }
    return world


def manuals() -> Path:
    if not MANUALS.is_dir():
        pytest.skip(f"the real manuals are not beside this checkout ({MANUALS.name} is missing)")
    return MANUALS


def test_rows_in_milvus_are_the_chunks_of_the_report_and_of_the_preview(cloud, s3_bucket):
    folder = manuals()
    converted = cloud.command("convert", "--to", f"s3://{s3_bucket}/parsed", str(folder), "--json")
    assert converted.returncode == 0, converted.stderr

    run = cloud.command("run", "--json")

    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    expected = {}
    for file in sorted(folder.iterdir()):
        chunks = json.loads(cloud.command("chunk", "--format", "json", str(file)).stdout)
        expected[file.name] = len(chunks)
    assert cloud.documents() == expected
    assert len(cloud.rows()) == report["chunks"]["total"] == sum(expected.values())
    again = json.loads(cloud.command("run", "--json").stdout)
    assert again["chunks"] == {"total": report["chunks"]["total"], "upserted": 0, "deleted": 0}
    assert again["embedding"]["texts"] == 0


def test_wrong_keys_stop_the_run_and_say_what_to_set(cloud):
    run = cloud.command("run", AWS_SECRET_ACCESS_KEY="wrong")

    assert run.returncode == 3
    assert "refused the credentials" in run.stderr
    assert run.stderr.count("\n") <= 2


def test_a_state_store_that_ignores_conditional_writes_is_refused_by_name(
    cloud, rclone_settings, rclone_bucket
):
    cloud.settings["s3"]["endpoint_url"] = rclone_settings.endpoint_url
    cloud.settings["state"]["uri"] = f"s3://{rclone_bucket}/kitelift"

    run = cloud.command("run")

    assert run.returncode == 3
    assert rclone_bucket in run.stderr
    assert "If-None-Match" in run.stderr

"""`kitelift convert` from buckets into buckets."""

import boto3
import pytest

from jobs.conversion.inputs import Input, Root
from jobs.conversion.worker import Failed, Recipe, Task, convert_batch
from storage.converted import EncodedRow
from storage.errors import AccessRefusedError, StoreUnavailableError
from storage.s3_objects import S3ObjectStore, S3Settings
from tests.jobs.conversion.calls import convert, documents, write

pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.server
def test_from_a_bucket_into_a_bucket(s3_endpoint, s3_settings, s3_bucket):
    client = boto3.client("s3", endpoint_url=s3_endpoint, region_name="us-east-1")
    for n in range(5):
        client.put_object(Bucket=s3_bucket, Key=f"docs/子 {n}.md", Body=f"# T{n}\n\ntext".encode())
    uri, to = f"s3://{s3_bucket}/docs", f"s3://{s3_bucket}/parsed"

    first = convert(uri, to=to, s3=s3_settings, workers=2)
    assert first["files"]["read"] == 5
    found = documents(to, s3_settings)
    assert sorted(found) == [f"子 {n}.md" for n in range(5)]
    assert found["子 3.md"].source == f"{uri}/子 3.md"

    client.put_object(Bucket=s3_bucket, Key="docs/子 3.md", Body=b"# New\n\ntext")
    client.delete_object(Bucket=s3_bucket, Key="docs/子 4.md")
    second = convert(uri, to=to, s3=s3_settings)
    assert second["files"] == {"read": 4, "unchanged": 3, "skipped": 0, "failed": 0}
    assert second["document_changes"] == {"added": 0, "changed": 1, "removed": 1}
    assert documents(to, s3_settings)["子 3.md"].markdown == "# New\n\ntext"

    third = convert(uri, to=to, s3=s3_settings)
    assert third["object_changes"] == {"written": 0, "kept": 1, "deleted": 0}
    client.close()


def test_a_bucket_that_does_not_answer_ends_the_call_instead_of_failing_each_file(
    unused_port, monkeypatch
):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    s3 = S3Settings(
        endpoint_url=f"http://127.0.0.1:{unused_port}", region="us-east-1", max_attempts=1
    )
    file = Input(root=Root("s3://bucket/docs"), path="a.md", size=1, version="etag")

    with pytest.raises(StoreUnavailableError):
        convert_batch([Task(file=file)], Recipe(version="1", format="auto", id_field=""), s3)


@pytest.mark.server
def test_an_object_that_is_gone_when_it_is_read_fails_alone(s3_settings, s3_bucket):
    store = S3ObjectStore(s3_bucket, s3_settings)
    store.put("docs/b.md", b"there")
    root = Root(f"s3://{s3_bucket}/docs")
    files = [Input(root=root, path=path, size=1, version="etag") for path in ("a.md", "b.md")]
    recipe = Recipe(version="1", format="auto", id_field="")

    gone, there = convert_batch([Task(file=file) for file in files], recipe, s3_settings)

    assert isinstance(gone, Failed)
    assert "docs/a.md is not in" in gone.reason
    assert isinstance(there, EncodedRow)


@pytest.mark.server
def test_wrong_credentials_end_the_call_instead_of_failing_each_file(
    s3_settings, s3_bucket, monkeypatch
):
    write({"docs/a.md": "a"})
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")

    with pytest.raises(AccessRefusedError):
        convert("docs", to=f"s3://{s3_bucket}/parsed", s3=s3_settings)

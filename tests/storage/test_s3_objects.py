"""What is particular to objects in a bucket."""

from collections.abc import Callable

import pytest

from storage.errors import (
    AccessRefusedError,
    SettingError,
    StoreUnavailableError,
)
from storage.protocols import ObjectInfo, ObjectStore
from storage.s3_objects import S3ObjectStore, S3Settings

CALLS: list[Callable[[ObjectStore], object]] = [
    lambda store: list(store.list()),
    lambda store: store.head("k"),
    lambda store: store.get("k"),
    lambda store: store.open(ObjectInfo(key="k", etag="x", size=9)),
    lambda store: store.put("k", b""),
    lambda store: store.put("k", b"", if_absent=True),
    lambda store: store.put("k", b"", if_etag="x"),
    lambda store: store.delete("k"),
]

every_call = pytest.mark.parametrize(
    "call",
    CALLS,
    ids=["list", "head", "get", "open", "put", "put_if_absent", "put_if_etag", "delete"],
)


@every_call
def test_a_server_that_is_down_is_named(call, unused_port, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    settings = S3Settings(endpoint_url=f"http://127.0.0.1:{unused_port}", max_attempts=1)

    with pytest.raises(StoreUnavailableError, match=f"127.0.0.1:{unused_port}"):
        call(S3ObjectStore("bucket", settings))


@pytest.mark.server
@every_call
def test_wrong_keys_are_told_from_a_missing_bucket(call, s3_bucket, s3_settings, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")

    with pytest.raises(AccessRefusedError, match="refused the credentials"):
        call(S3ObjectStore(s3_bucket, s3_settings))


@pytest.mark.server
@every_call
def test_a_missing_bucket_is_told_from_a_missing_object(call, s3_settings):
    with pytest.raises(SettingError, match="s3://no-such-bucket: there is no such bucket"):
        call(S3ObjectStore("no-such-bucket", s3_settings))


@every_call
def test_a_name_that_no_bucket_can_have_is_refused_on_our_side(call, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")

    with pytest.raises(SettingError, match="Invalid bucket name"):
        call(S3ObjectStore("no bucket", S3Settings(endpoint_url="http://127.0.0.1:1")))


def test_no_keys_at_all_is_said(monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    with pytest.raises(AccessRefusedError, match="Unable to locate credentials"):
        S3ObjectStore("bucket", S3Settings(endpoint_url="http://127.0.0.1:1")).head("k")


def test_a_region_that_cannot_be_is_refused_at_once():
    with pytest.raises(SettingError, match="no region"):
        S3ObjectStore("bucket", S3Settings(region="no region"))


@pytest.mark.parametrize(
    ("url", "reason"),
    [("minio:9000", "no http.s. address"), ("http://key:secret@host:9000", "holds credentials")],
)
def test_an_endpoint_is_a_plain_address(url, reason):
    with pytest.raises(ValueError, match=reason) as refusal:
        S3Settings(endpoint_url=url)

    assert "secret@" not in str(refusal.value).split("[type=")[0]

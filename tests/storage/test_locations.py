"""URIs of folders and buckets."""

import pytest

from storage.errors import (
    SettingError,
)
from storage.objects import open_location
from storage.s3_objects import S3Settings


def test_a_bucket_and_a_prefix():
    location = open_location("s3://bucket/parsed/2024 %20+报告", S3Settings())

    assert (location.objects.place, location.prefix) == ("s3://bucket", "parsed/2024 %20+报告/")


@pytest.mark.parametrize("uri", ["s3://bucket", "s3://bucket/"])
def test_a_whole_bucket_has_no_prefix(uri):
    assert open_location(uri, S3Settings()).prefix == ""


def test_a_folder_by_path_or_uri_has_no_prefix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "a b%20"

    for uri in (str(folder), f"{folder}/", "a b%20", "./a b%20", "~/a b%20"):
        location = open_location(uri, S3Settings())
        assert (location.objects.place, location.prefix) == (str(folder), "")
    assert open_location(folder.as_uri(), S3Settings()).objects.place == str(folder)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("", "it is empty"),
        ("s3://", "names no bucket"),
        ("s3:///prefix", "names no bucket"),
        ("gs://bucket", "gs:// is not known"),
        ("file://host/folder", "another host"),
    ],
)
def test_a_uri_that_names_no_store_is_refused(uri, reason):
    with pytest.raises(SettingError, match=reason):
        open_location(uri, S3Settings())


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "x.parquet"
    file.write_bytes(b"")

    with pytest.raises(SettingError, match=f"this is a file.*{tmp_path}"):
        open_location(str(file), S3Settings())

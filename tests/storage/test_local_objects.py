"""What is particular to objects in a folder."""

import os
from pathlib import Path

import pytest

from storage.errors import (
    ObjectChangedError,
    ObjectMissingError,
    SettingError,
    StoreUnavailableError,
)
from storage.local_objects import TEMPORARY, LocalObjectStore
from storage.protocols import ObjectInfo


@pytest.mark.parametrize(
    "key", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "a/.", "a\0b"]
)
def test_a_key_that_is_no_plain_path_is_refused(local, key):
    info = ObjectInfo(key=key, etag="", size=0)
    for call in (
        local.head,
        local.get,
        local.delete,
        lambda k: local.put(k, b""),
        lambda _: local.open(info),
    ):
        with pytest.raises(ValueError, match="no key of a folder"):
            call(key)


def test_a_linked_folder_leads_nowhere(local, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    local.put("in/k", b"")
    root = Path(local.place)
    (root / "link").symlink_to(outside)
    (root / "in/loop").symlink_to(root)

    assert [info.key for info in local.list()] == ["in/k"]
    for call in (local.get, local.delete, lambda key: local.put(key, b"")):
        with pytest.raises(ValueError, match="leads out"):
            call("link/secret")
    assert (outside / "secret").read_bytes() == b"secret"


def test_a_linked_file_is_read_and_a_write_replaces_the_link_only(local, tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"linked")
    local.put("k", b"")
    Path(local.place, "link").symlink_to(outside)
    Path(local.place, "dangling").symlink_to(tmp_path / "nowhere")

    assert [(info.key, info.size) for info in local.list()] == [("k", 0), ("link", 6)]
    assert local.get("link")[0] == b"linked"
    local.put("link", b"own")
    assert outside.read_bytes() == b"linked"
    assert local.get("link")[0] == b"own"


def test_half_written_files_are_no_objects(local):
    local.put("a/k", b"")
    Path(local.place, "a", f"{TEMPORARY}123").write_bytes(b"half")

    assert [info.key for info in local.list()] == ["a/k"]
    with pytest.raises(ValueError, match="half-written"):
        local.put(f"a/{TEMPORARY}123", b"")


def test_a_write_that_fails_leaves_the_old_bytes_and_no_litter(local, monkeypatch):
    local.put("a/k", b"old")
    etag = local.head("a/k").etag
    monkeypatch.setattr(os, "fsync", _disk_full)

    with pytest.raises(StoreUnavailableError, match="No space left"):
        local.put("a/k", b"new")

    assert local.get("a/k") == (b"old", etag)
    assert [path.name for path in Path(local.place, "a").iterdir()] == ["k"]


def _disk_full(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def test_the_etag_of_a_file_notices_a_rewrite_in_place_that_restores_its_time(local):
    local.put("k", b"old")
    info = local.head("k")
    path = Path(local.place, "k")
    before = path.stat()

    path.write_bytes(b"new")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert local.head("k").etag != info.etag
    with pytest.raises(ObjectChangedError):
        local.open(info)


def test_a_folder_that_does_not_exist_is_empty_until_it_is_written(tmp_path):
    store = LocalObjectStore(tmp_path / "a" / "b")

    assert list(store.list()) == []
    store.delete("k")
    with pytest.raises(ObjectMissingError):
        store.head("k")
    assert not (tmp_path / "a").exists()
    store.put("k", b"")
    assert [info.key for info in store.list()] == ["k"]


def test_a_folder_is_no_object(local):
    local.put("a/k", b"")

    for read in (local.head, local.get):
        with pytest.raises(ObjectMissingError):
            read("a")
    with pytest.raises(ObjectMissingError):
        local.get("a/k/deeper")
    with pytest.raises(SettingError, match="a/k/deeper cannot be written"):
        local.put("a/k/deeper", b"")


def test_a_file_whose_name_is_not_utf8_is_named(local):
    local.put("k", b"")
    Path(os.fsdecode(os.fsencode(local.place) + b"/caf\xe9.parquet")).write_bytes(b"")

    with pytest.raises(SettingError, match=r"caf.*not UTF-8.*Rename"):
        list(local.list())

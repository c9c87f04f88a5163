"""The contract of ObjectStore, for every store; then what is particular to one of them."""

import io
import multiprocessing
import os
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from storage.errors import (
    AccessRefusedError,
    ConditionFailedError,
    ObjectChangedError,
    ObjectMissingError,
    SettingError,
    StoreUnavailableError,
)
from storage.local_objects import TEMPORARY, LocalObjectStore
from storage.objects import open_location, probe_conditional_writes
from storage.protocols import Location, ObjectInfo, ObjectStore
from storage.s3_objects import S3ObjectStore, S3Settings

ODD_KEYS = [
    "in/报告 1+1=2 100%.parquet",
    "in/a+b.parquet",
    "in/a%2Bb.parquet",
    "in/\u00e9.parquet",
    "in/e\u0301.parquet",
    "in/'single' \"double\" <&>;?#.parquet",
    "in/\U0001d11e clef.parquet",
    "in/\uff5e fullwidth.parquet",
]
"""CASES C104, and two keys whose order differs between UTF-8 and UTF-16."""


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


# What every store does


def test_what_was_put_can_be_read_in_every_way(objects):
    etag = objects.put("a/b.bin", b"0123456789")

    assert objects.get("a/b.bin") == (b"0123456789", etag)
    info = objects.head("a/b.bin")
    assert info == ObjectInfo(key="a/b.bin", etag=etag, size=10)
    assert list(objects.list()) == [info]
    with objects.open(info) as file:
        assert file.read() == b"0123456789"


def test_an_empty_object_is_an_object(objects):
    objects.put("empty", b"")

    assert objects.get("empty")[0] == b""
    with objects.open(objects.head("empty")) as file:
        assert file.read() == b""


def test_a_reader_seeks_and_reads_pieces(objects):
    data = os.urandom(3_000_000)
    objects.put("big", data)

    with objects.open(objects.head("big")) as file:
        assert file.seekable()
        assert file.seek(-8, io.SEEK_END) == 2_999_992
        assert file.read() == data[-8:]
        assert file.read(1) == b""
        assert file.seek(1_500_000) == file.tell() == 1_500_000
        assert file.read(1_200_000) == data[1_500_000:2_700_000]
        assert file.seek(10, io.SEEK_CUR) == 2_700_010
        assert file.read(5) == data[2_700_010:2_700_015]
        file.seek(4_000_000)
        assert file.read(1) == b""


def test_odd_keys_are_taken_letter_for_letter(objects):
    for key in ODD_KEYS:
        objects.put(key, key.encode())

    assert [info.key for info in objects.list("in/")] == sorted(ODD_KEYS, key=str.encode)
    for info in objects.list("in/"):
        assert objects.get(info.key)[0] == info.key.encode()
        with objects.open(info) as file:
            assert file.read() == info.key.encode()
    for key in ODD_KEYS:
        objects.delete(key)
    assert list(objects.list()) == []


def test_a_listing_is_in_the_order_of_the_bytes_of_whole_keys(objects):
    keys = [
        "B",
        "a.b",
        "a/b",
        "a/B",
        "a0",
        "a-b",
        "b/c/d",
        "b/c-d",
        "b/c.d",
        "é",
        "中/文",
        "\U0001d11e",
    ]
    for key in keys:
        objects.put(key, b"")

    assert [info.key for info in objects.list()] == sorted(keys, key=str.encode)


def test_a_prefix_is_a_piece_of_text_and_no_folder(objects):
    for key in ("ab/1", "ab/2", "abc", "a/b", "b"):
        objects.put(key, b"")

    assert [info.key for info in objects.list("ab")] == ["ab/1", "ab/2", "abc"]
    assert [info.key for info in objects.list("ab/")] == ["ab/1", "ab/2"]
    assert [info.key for info in objects.list("nothing")] == []


def test_2001_objects_are_listed_once_each(safe):
    """CASES C111: a page holds 1,000."""
    expected = [f"many/{n:04}" for n in range(2001)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: safe.put(key, b""), expected))

    assert [info.key for info in safe.list("many/")] == expected
    assert [info.key for info in safe.list("many/")] == expected


def test_the_etag_changes_with_the_bytes(objects):
    first = objects.put("k", b"old")
    second = objects.put("k", b"new")

    assert first != second
    assert objects.head("k").etag == second == next(objects.list("k")).etag


def test_a_missing_object_is_named(objects):
    objects.put("other", b"")
    gone = ObjectInfo(key="no/such", etag="x", size=1)

    for read in (objects.head, objects.get, lambda _: objects.open(gone)):
        with pytest.raises(ObjectMissingError, match="no/such"):
            read("no/such")


def test_deleting_twice_is_no_fault(objects):
    objects.put("k", b"")

    objects.delete("k")
    objects.delete("k")
    objects.delete("never/there")

    assert list(objects.list()) == []


def test_an_overwritten_object_is_noticed_when_opened(objects):
    objects.put("k", b"listed")
    info = objects.head("k")
    objects.put("k", b"newer!")

    with pytest.raises(ObjectChangedError, match="k in"):
        objects.open(info)


def test_an_overwritten_object_is_noticed_at_the_next_read(objects):
    objects.put("k", b"old" * 1_000_000)
    info = objects.head("k")

    with objects.open(info) as file:
        assert file.read(10) == b"oldoldoldo"
        objects.put("k", b"new" * 1_000_000)
        with pytest.raises(ObjectChangedError):
            file.read()


def test_an_object_that_is_deleted_meanwhile_is_noticed_at_the_next_read(objects):
    objects.put("k", b"old" * 1_000_000)

    with objects.open(objects.head("k")) as file:
        file.read(10)
        objects.delete("k")
        with pytest.raises(ObjectMissingError):
            file.read()


def test_a_store_travels_to_a_worker(objects):
    objects.put("k", b"data")

    copy = pickle.loads(pickle.dumps(objects))

    assert copy.place == objects.place
    assert copy.get("k")[0] == b"data"


# Conditional writes


def test_create_only_refuses_what_exists(safe):
    safe.put("k", b"first", if_absent=True)

    with pytest.raises(ConditionFailedError, match="k in"):
        safe.put("k", b"second", if_absent=True)

    assert safe.get("k")[0] == b"first"


def test_compare_and_swap_refuses_any_other_version(safe):
    first = safe.put("k", b"1")
    second = safe.put("k", b"2", if_etag=first)

    with pytest.raises(ConditionFailedError):
        safe.put("k", b"3", if_etag=first)

    assert safe.get("k") == (b"2", second)


def test_compare_and_swap_does_not_create(safe):
    with pytest.raises(ConditionFailedError):
        safe.put("k", b"1", if_etag="0123456789abcdef0123456789abcdef")

    assert list(safe.list()) == []


def test_versions_of_a_file_differ_in_time_even_if_the_clock_stands_still(local, monkeypatch):
    """Equal sizes, an inode used again and a coarse clock would else give one etag to two.

    In a bucket the etag is a hash, so ledgers write distinct bytes.
    """
    monkeypatch.setattr(time, "time_ns", lambda: 10**18)
    times = []
    for _ in range(3):
        local.put("k", b"same")
        times.append(Path(local.place, "k").stat().st_mtime_ns)

    assert times == [10**18, 10**18 + 1, 10**18 + 2]


def test_one_of_eight_threads_creates(safe):
    barrier = threading.Barrier(8)

    def create(n: int) -> bool:
        barrier.wait()
        try:
            safe.put("claim", str(n).encode(), if_absent=True)
        except ConditionFailedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(8)))

    assert sum(won) == 1
    assert safe.get("claim")[0] == str(won.index(True)).encode()


def test_a_counter_of_three_processes_loses_no_step(safe):
    """Every successful swap adds one; a lost update would leave the counter short."""
    safe.put("counter", b"0")

    with multiprocessing.get_context("spawn").Pool(3) as pool:
        pool.starmap(count_up, [(safe, 20)] * 3)
        pool.close()
        pool.join()

    assert safe.get("counter")[0] == b"60"


def count_up(objects: ObjectStore, steps: int) -> None:
    while steps:
        value, etag = objects.get("counter")
        try:
            objects.put("counter", str(int(value) + 1).encode(), if_etag=etag)
        except ConditionFailedError:
            continue
        steps -= 1


def test_the_probe_passes_where_conditions_hold_and_leaves_nothing(safe):
    safe.put("state/known", b"")

    probe_conditional_writes(Location(objects=safe, prefix="state/"))

    assert [info.key for info in safe.list()] == ["state/known"]


@pytest.mark.server
def test_the_probe_refuses_a_store_that_ignores_conditions(rclone_bucket, rclone_settings):
    location = open_location(f"s3://{rclone_bucket}/state", rclone_settings)

    with pytest.raises(SettingError, match=f"{rclone_bucket}.*If-None-Match.*MinIO"):
        probe_conditional_writes(location)

    assert list(location.objects.list()) == []


def test_the_probe_refuses_a_store_that_ignores_if_match_alone(local, tmp_path):
    class Forgetful(LocalObjectStore):
        def put(self, key, data, *, if_absent=False, if_etag=None):
            return super().put(key, data, if_absent=if_absent and if_etag is None)

    with pytest.raises(SettingError, match="ignores If-Match"):
        probe_conditional_writes(Location(objects=Forgetful(tmp_path)))


# A folder


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


# A bucket

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


# Locations


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

"""The contract of ObjectStore, for every store."""

import io
import multiprocessing
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from storage.errors import (
    ConditionFailedError,
    ObjectChangedError,
    ObjectMissingError,
    SettingError,
)
from storage.local_objects import LocalObjectStore
from storage.objects import open_location, probe_conditional_writes
from storage.protocols import Location, ObjectInfo, ObjectStore

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

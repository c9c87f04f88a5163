"""What was paid for to find out where to cut stands where the next one looks for it."""

import numpy as np
import pytest

from chunking.ids import content_hash
from storage.local_objects import LocalObjectStore
from storage.sentence_vectors import SentenceStore

ROOT = "docs/sentences/model/"
PLACE = {"run_id": "r1", "shard": 0, "attempt": 1}


class Counting(LocalObjectStore):
    """Counts how often a file is opened."""

    def __init__(self, root):
        super().__init__(root)
        self.opened = []

    def open(self, info):
        self.opened.append(info.key)
        return super().open(info)


@pytest.fixture
def objects(tmp_path):
    return Counting(tmp_path)


def hashes(*texts):
    return [content_hash(text) for text in texts]


def vectors(*numbers):
    return np.array([[number, 1.0] for number in numbers], np.float32)


def test_every_later_attempt_run_and_process_finds_it_and_no_other_object_does(objects):
    key = "2026/手册.parquet"
    SentenceStore(objects, ROOT).shelf(key, **PLACE).keep(hashes("一", "two"), vectors(1, 2))
    store = SentenceStore(objects, ROOT)

    for place in (PLACE, {**PLACE, "attempt": 2}, {**PLACE, "run_id": "r2", "shard": 7}):
        found = store.shelf(key, **place).find(hashes("two", "一", "none"))
        assert {h: list(v) for h, v in found.items()} == dict(
            zip(hashes("一", "two"), [[1, 1], [2, 1]], strict=True)
        )
    assert store.shelf("2026/other.parquet", **PLACE).find(hashes("two")) == {}
    assert (
        SentenceStore(objects, "docs/sentences/another/").shelf(key, **PLACE).find(hashes("two"))
        == {}
    )


def test_hashes_are_read_once_and_vectors_only_where_some_are_wanted(objects):
    shelf = SentenceStore(objects, ROOT).shelf("o", **PLACE)
    for number in range(3):
        shelf.keep(hashes(f"s{number}"), vectors(number))
    assert objects.opened == []

    fresh = SentenceStore(objects, ROOT).shelf("o", **PLACE)
    assert fresh.find(hashes("none")) == {}
    assert sorted(objects.opened) == sorted({*objects.opened})  # each once, for its hashes
    assert len(objects.opened) == 3
    assert fresh.find(hashes("none")) == {}
    assert len(objects.opened) == 3
    assert fresh.find(hashes("s1"))[content_hash("s1")][0] == 1
    assert len(objects.opened) == 4


def test_what_a_kill_cut_off_counts_as_absent(objects, tmp_path):
    shelf = SentenceStore(objects, ROOT).shelf("o", **PLACE)
    shelf.keep(hashes("a"), vectors(1))
    (file,) = tmp_path.rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:-20])
    shelf.keep(hashes("b"), vectors(2))

    found = SentenceStore(objects, ROOT).shelf("o", **PLACE).find(hashes("a", "b"))

    assert found.keys() == set(hashes("b"))


def test_files_that_gc_drops_meanwhile_are_passed_over(objects):
    shelf = SentenceStore(objects, ROOT).shelf("o", **PLACE)
    shelf.keep(hashes("a"), vectors(1))
    (info,) = objects.list(ROOT)
    objects.delete(info.key)

    assert shelf.find(hashes("a")) == {}

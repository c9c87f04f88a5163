"""A text that leaves one document and enters another is not paid for again, whenever it arrives."""

import numpy as np
import pytest

from chunking.ids import content_hash
from jobs.attic import Attic, clear
from jobs.stopping import StopSign
from storage.local_objects import LocalObjectStore
from storage.parts import stage_vectors

BEFORE = {
    "a/0.parquet": {"a": "# 手册\n\n## One\n\nStays.\n\n## 二\n\n这一段要搬走。"},
    "b/0.parquet": {"b": "# 手册\n\n## Three\n\nStays as well."},
}
AFTER = {
    "a/0.parquet": {"a": "# 手册\n\n## One\n\nStays."},
    "b/0.parquet": {"b": "# 手册\n\n## Three\n\nStays as well.\n\n## 二\n\n这一段要搬走。"},
}


def put(world, objects):
    for key, documents in objects.items():
        world.put(key, documents)


def left(world):
    return list(world.folder.glob("state/*/attic/**/*.parquet"))


@pytest.mark.server
class TestATextThatMoves:
    @pytest.fixture
    def moved(self, world):
        """Its old place is walked before its new one."""
        put(world, BEFORE)
        assert world.run()["chunks"]["total"] == 3
        world.server.forget()
        put(world, AFTER)
        return world

    def test_within_a_run_is_found_again_and_leaves_nothing_behind(self, moved):
        report = moved.run()

        assert report["outcome"] == "succeeded"
        assert report["embedding"]["reused"] == 1
        assert moved.server.paid_texts() == []
        assert moved.documents() == {"a": 1, "b": 2}
        assert left(moved) == []

    def test_within_a_shard_is_found_again_in_a_later_window(self, world):
        world.settings = {"run": {"window_bytes": 1}}
        world.put("0.parquet", {**BEFORE["a/0.parquet"], **BEFORE["b/0.parquet"]})
        world.run()
        world.server.forget()
        world.put("0.parquet", {**AFTER["a/0.parquet"], **AFTER["b/0.parquet"]})

        world.run()

        assert world.server.paid_texts() == []
        assert world.documents() == {"a": 1, "b": 2}

    @pytest.mark.parametrize("edge", ["deleted", "committed"])
    def test_is_found_again_after_a_kill(self, moved, forked, edge):
        forked.kill(moved, edge)

        moved.run()

        assert moved.server.paid_texts() == []
        assert moved.documents() == {"a": 1, "b": 2}
        assert left(moved) == []

    def test_is_found_again_by_a_backfill_of_another_part(self, moved):
        moved.run(prefix="a/")
        assert moved.documents() == {"a": 1, "b": 1}
        assert left(moved)

        moved.run(prefix="b/")

        assert moved.server.paid_texts() == []
        assert moved.documents() == {"a": 1, "b": 2}
        moved.run()
        assert left(moved) == []

    def test_is_found_again_when_its_document_vanished_before_its_new_one_was_walked(self, moved):
        moved.source.delete("a/0.parquet")
        stopped = StopSign()
        stopped.reason = "stopped by SIGINT"
        moved.run(sign=stopped, allow_delete=True)
        assert moved.documents() == {"b": 1}

        moved.run()

        assert moved.server.paid_texts() == []
        assert moved.documents() == {"b": 2}


def hashes(*texts):
    return [content_hash(text) for text in texts]


def test_the_attic_reads_each_file_of_hashes_once_and_no_vector_in_vain(tmp_path):
    objects = Counting(tmp_path)
    for number in range(4):
        names = hashes(*(f"text {number}.{n}" for n in range(3)))
        stage_vectors(objects, f"attic/r/{number}.parquet", names, np.full((3, 2), number + 1.0))
    attic = Attic(objects)

    for _ in range(3):
        assert attic.find("attic", hashes("nowhere")) == {}
    assert sorted(objects.opened) == [f"attic/r/{number}.parquet" for number in range(4)]
    found = attic.find("attic", hashes("text 2.1", "text 0.0", "nowhere"))

    assert {name: vector.tolist() for name, vector in found.items()} == {
        content_hash("text 2.1"): [3.0, 3.0],
        content_hash("text 0.0"): [1.0, 1.0],
    }
    assert len(objects.opened) == 4 + 2


def test_a_file_that_was_cut_off_is_as_none(tmp_path):
    objects = LocalObjectStore(tmp_path)
    stage_vectors(objects, "attic/r/0.parquet", hashes("whole"), np.ones((1, 2)))
    objects.put("attic/r/1.parquet", objects.get("attic/r/0.parquet")[0][:50])

    assert list(Attic(objects).find("attic", hashes("whole"))) == hashes("whole")


def test_clearing_spares_the_run_that_is_named_and_no_other_of_a_like_name(tmp_path):
    objects = LocalObjectStore(tmp_path)
    for key in ("attic/f/r/0", "attic/f/r-2/0", "attic/f2/r/0"):
        objects.put(key, b"")

    clear(objects, "attic/f", but="r")

    assert [info.key for info in objects.list("attic/")] == ["attic/f/r/0", "attic/f2/r/0"]
    clear(objects, "attic/f")
    assert [info.key for info in objects.list("attic/")] == ["attic/f2/r/0"]


class Counting(LocalObjectStore):
    def __init__(self, folder):
        super().__init__(folder)
        self.opened = []

    def open(self, info):
        self.opened.append(info.key)
        return super().open(info)

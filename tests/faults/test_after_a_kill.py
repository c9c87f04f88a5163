"""What a killed run leaves is found again, whatever happened to the corpus and settings since."""

from collections import Counter

import pytest

from tests.jobs.world import manual

pytestmark = pytest.mark.server

CORPUS = {f"{n:02d}.md": manual(f"手册 {n}") for n in range(3)}
NEW = {"new.md": manual("新手册")}


def twice(world):
    return Counter(world.server.paid_texts()) - Counter(set(world.server.paid_texts()))


@pytest.mark.parametrize("key", ["0.parquet", "9.parquet"])
def test_a_paid_text_is_found_again_where_its_document_went(world, forked, key):
    world.put("5.parquet", CORPUS)
    forked.kill(world, "intended")
    world.source.delete("5.parquet")
    world.put(key, CORPUS)

    report = world.run()

    assert report["outcome"] == "succeeded"
    assert not twice(world)


def test_a_paid_text_is_found_again_by_a_run_that_looks_at_everything(world, forked):
    world.put("5.parquet", CORPUS)
    forked.kill(world, "intended")

    report = world.run(full=True)

    assert report["outcome"] == "succeeded"
    assert not twice(world)


def test_other_settings_after_a_kill_reuse_what_it_paid_for(world, forked):
    """Another chunker makes another collection, and most of the same texts."""
    world.put("5.parquet", CORPUS)
    forked.kill(world, "intended")
    assert world.rows() == []
    world.settings = {"chunking": {"max_tokens": 300}}

    report = world.run()

    assert report["outcome"] == "succeeded"
    assert report["embedding"]["reused"] > 0
    assert not twice(world)


def test_rows_of_a_killed_run_are_not_forgotten_while_other_settings_are_tried(world, forked):
    """The corpus, and the settings, go back to what they were: so do the rows."""
    world.put("5.parquet", {**CORPUS, "d.md": "The first version."})
    world.run()
    rows = world.rows()
    world.put("5.parquet", {**CORPUS, "d.md": "The second version."})
    forked.kill(world, "deleted")  # one row less and one more: a count tells nothing
    world.settings = {"chunking": {"max_tokens": 300}, "run": {"promote": False}}
    world.run()
    world.settings = {}
    world.put("5.parquet", {**CORPUS, "d.md": "The first version."})

    world.run()

    assert world.rows() == rows


@pytest.mark.parametrize("killed", [True, False])
def test_a_part_that_was_not_walked_is_still_part_of_the_corpus(world, forked, killed):
    """A document moves to where no run has looked yet, and then only a part is run."""
    world.put("a.parquet", {**CORPUS, "moves.md": "Here and there."})
    world.put("b.parquet", NEW)
    world.run()
    world.put("a.parquet", CORPUS)
    world.put("b.parquet", {**NEW, "moves.md": "Here and there."})
    if killed:
        forked.kill(world, "claimed")

    world.run(prefix="a", allow_delete=True)

    assert world.documents()["moves.md"] == 1


@pytest.mark.parametrize("run_id", ["", "nightly"])
def test_half_written_files_of_a_killed_run_are_as_none(world, forked, run_id):
    """CASES C119, on a store whose writes can be cut off; with and without the old run id."""
    for n, (name, text) in enumerate(CORPUS.items()):
        world.put(f"{n}.parquet", {name: text})
    forked.kill(world, "committed:2", run_id="nightly")
    (folder,) = world.folder.glob("state/*/runs/nightly")
    results = sorted(folder.glob("*/*/result.json"))
    assert len(results) == 2
    for cut in (folder / "run.json", results[1]):
        cut.write_bytes(cut.read_bytes()[:20])

    report = world.run(run_id=run_id)

    assert report["outcome"] == "succeeded"
    assert sorted(world.documents()) == sorted(CORPUS)
    assert len(world.rows()) == report["chunks"]["total"]
    assert not twice(world)
    assert world.run()["chunks"]["upserted"] == 0

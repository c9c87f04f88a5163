"""A ledger that is not what we wrote: named, never guessed at, and mended as the message says."""

import pytest

from tests.jobs.world import manual

pytestmark = pytest.mark.server

CORPUS = {f"{n}.md": manual(f"手册 {n}", sections=2, sentences=2) for n in range(5)}
CATALOGUE = "catalogue/*.json"
RECORDS = "runs/*/*/000000/records-*.parquet"


@pytest.fixture
def filled(world):
    for name, text in CORPUS.items():
        world.put(f"{name}.parquet", {name: text})
    world.run()
    world.server.forget()
    return world


def damage(world, pattern, how):
    (path,) = world.folder.glob(f"state/*/{pattern}")
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(data[: len(data) // 2] if how == "cut" else b"")
    return path


@pytest.mark.parametrize(
    ("pattern", "how"),
    [(CATALOGUE, "cut"), (CATALOGUE, "empty"), (RECORDS, "cut"), (RECORDS, "gone")],
)
def test_damage_is_named_and_deleting_the_catalogue_mends_it_for_nothing(filled, pattern, how):
    rows = filled.rows()
    path = damage(filled, pattern, how)
    filled.put("0.md.parquet", {"0.md": "Another text. 另一段。"})
    filled.put("9.md.parquet", {"9.md": CORPUS["1.md"]})

    for command in ("verify", "plan", "run"):
        told = filled.typed(command)
        assert told.returncode == 3
        assert "the ledger is damaged" in told.stderr
        assert path.name in told.stderr
        assert "delete" in told.stderr
    assert filled.rows() == rows
    for catalogue in filled.folder.glob(f"state/*/{CATALOGUE}"):
        catalogue.unlink()
    report = filled.run()

    assert report["outcome"] == "succeeded"
    assert len(filled.server.paid_texts()) == 1
    assert sorted(filled.documents()) == sorted([*CORPUS, "9.md"])
    assert filled.typed("verify").returncode == 0


@pytest.mark.parametrize("how", ["cut", "empty"])
def test_a_lease_that_is_none_frees_nobody_and_says_what_to_do(filled, how):
    path = damage(filled, "lease.json", how)

    for command in ("status", "run", "gc"):
        told = filled.typed(command)
        assert told.returncode == 3
        assert "lease.json" in told.stderr
        assert "no run is at work, then delete it" in told.stderr
    path.unlink()
    assert filled.run()["outcome"] == "succeeded"


@pytest.mark.parametrize("how", ["cut", "empty"])
def test_moves_of_the_alias_that_cannot_be_read_let_nothing_be_dropped(filled, how):
    """`gc` keeps the collection that `rollback` goes back to, and must know which it is."""
    before = {record.collection for record in filled.ledger.runs()}
    filled.settings = {"chunking": {"max_tokens": 200, "overlap_tokens": 0}}
    filled.run()
    path = damage(filled, "promotions.json", how)

    for command in ("gc", "rollback"):
        told = filled.typed(command)
        assert told.returncode == 3
        assert "promotions.json" in told.stderr
        assert "delete" in told.stderr
    path.unlink()
    assert filled.typed("promote", *before).returncode == 0
    assert filled.typed("rollback").returncode == 0


def test_a_source_that_lost_half_is_not_believed_because_a_row_is_lost_too(filled):
    with filled.store() as store:
        store.delete([filled.rows()[0].chunk_id])
    left = filled.rows()
    for number in range(3):
        filled.source.delete(f"{number}.md.parquet")

    report = filled.run()

    assert report["outcome"] == "aborted"
    assert "3 of 5 documents have vanished" in report["reason"]
    assert filled.rows() == left
    allowed = filled.run(allow_delete=True)
    assert allowed["documents"]["deleted"] == 3
    assert sorted(filled.documents()) == ["3.md", "4.md"]


def test_a_source_that_lost_half_is_not_believed_because_the_catalogue_is_lost_too(filled):
    damage(filled, CATALOGUE, "gone")
    rows = filled.rows()
    for number in range(3):
        filled.source.delete(f"{number}.md.parquet")

    report = filled.run()

    assert report["outcome"] == "partial"
    assert "6 of 10 rows are of documents that neither the source nor" in report["reason"]
    assert filled.rows() == rows
    assert filled.run(allow_delete=True)["outcome"] == "succeeded"
    assert sorted(filled.documents()) == ["3.md", "4.md"]

"""What a run promises, on a real Milvus Lite and a real embedding server."""

import pytest

from chunking.model import Document
from tests.jobs.world import counts, manual, markdown

pytestmark = pytest.mark.server

CORPUS = {f"{n:02d}.md": manual(f"手册 {n}") for n in range(10)}


def test_rows_are_the_chunks_of_the_report_and_search_finds_them(world):
    world.put("a.parquet", dict(list(CORPUS.items())[:4]))
    world.put("b.parquet", dict(list(CORPUS.items())[4:]))

    report = world.run()

    assert report["outcome"] == "succeeded"
    assert report["documents"] == counts(read=10, stored=10)
    assert len(world.rows()) == report["chunks"]["total"] == report["chunks"]["upserted"]
    assert len({row.chunk_id for row in world.rows()}) == len(world.rows())
    assert sorted(world.documents()) == sorted(CORPUS)


def test_the_second_run_changes_nothing_and_embeds_nothing(world):
    world.put("a.parquet", CORPUS)
    first = world.run()
    rows = world.rows()
    world.server.forget()

    second = world.run()

    assert second["documents"] == counts(read=10, unchanged=10)
    assert second["chunks"] == {"total": first["chunks"]["total"], "upserted": 0, "deleted": 0}
    assert second["embedding"]["texts"] == 0
    assert world.server.paid_texts() == []
    assert world.rows() == rows


def test_looking_at_everything_again_still_writes_and_embeds_nothing(world):
    world.put("a.parquet", CORPUS)
    world.run()
    world.server.forget()

    report = world.run(full=True)

    assert report["documents"] == counts(read=10, unchanged=10)
    assert report["chunks"]["upserted"] == report["chunks"]["deleted"] == 0
    assert world.server.paid_texts() == []


def test_a_paragraph_at_the_top_of_fifty_chunks_pays_for_one_or_two(world):
    long = manual("long", sections=50)
    world.put("a.parquet", {**CORPUS, "long": long})
    world.run()
    before = {row.chunk_id for row in world.rows() if row.document_id != "long"}
    world.server.forget()
    world.put("a.parquet", {**CORPUS, "long": f"A new paragraph stands first.\n\n{long}"})

    report = world.run()

    assert 1 <= len(world.server.paid_texts()) <= 2
    assert report["embedding"]["texts"] <= 2
    assert report["embedding"]["reused"] >= 49
    assert report["documents"] == counts(read=11, stored=1, unchanged=10)
    assert {row.chunk_id for row in world.rows() if row.document_id != "long"} == before
    assert len(world.rows()) == report["chunks"]["total"]


def test_a_vanished_document_loses_its_rows_and_no_other_does(world):
    world.put("a.parquet", CORPUS)
    world.run()
    left = {key: text for key, text in CORPUS.items() if key != "03.md"}
    world.put("a.parquet", left)

    report = world.run()

    assert report["documents"] == counts(read=9, unchanged=9, deleted=1)
    assert sorted(world.documents()) == sorted(left)
    live = world.ledger.runs()[-1].progress
    assert (live.fates.deleted, live.deleted) == (1, report["chunks"]["deleted"])
    assert live.seconds["sweep"] > 0


def test_a_vanished_object_takes_its_documents_with_it(world):
    world.put("a.parquet", CORPUS)
    world.put("b.parquet", {"gone.md": manual("gone")})
    world.run()
    world.source.delete("b.parquet")

    report = world.run()

    assert report["documents"]["deleted"] == 1
    assert "gone.md" not in world.documents()


def test_a_document_that_moves_to_another_object_is_neither_deleted_nor_paid_again(world):
    world.put("a.parquet", CORPUS)
    world.put("b.parquet", {"moving.md": manual("moving")})
    world.run()
    rows = [row.chunk_id for row in world.rows()]
    world.server.forget()
    world.source.delete("b.parquet")
    world.put("c.parquet", {"moving.md": manual("moving")})

    report = world.run()

    assert report["documents"]["deleted"] == 0
    assert world.server.paid_texts() == []
    assert [row.chunk_id for row in world.rows()] == rows


def test_a_change_of_title_alone_is_written_without_an_embedding(world):
    text = "A plain text without any heading, so that its content stays as it is."
    world.put("a.parquet", [markdown("d", text)])
    world.run()
    world.server.forget()
    world.put("a.parquet", [Document(document_id="d", file_title="Anders", markdown=text)])

    report = world.run()

    assert report["chunks"]["upserted"] == 1
    assert world.server.paid_texts() == []
    with world.store() as store:
        (hit,) = store.search(text="plain", vector=None, mode="sparse", top_k=1)
    assert hit.row["file_title"] == "Anders"


def test_equal_texts_of_different_documents_are_paid_once_and_stored_apart(world):
    world.put("a.parquet", {"x": "同上。", "y": "同上。", "z": "同上。"})

    report = world.run()

    assert len(world.server.paid_texts()) == 1
    assert report["embedding"]["reused"] == 2
    assert world.documents() == {"x": 1, "y": 1, "z": 1}


def test_a_shorter_version_leaves_no_tail_and_an_empty_one_nothing(world):
    world.put("a.parquet", {**CORPUS, "shrinks": manual("shrinks", sections=5)})
    world.run()
    world.put("a.parquet", {**CORPUS, "shrinks": manual("shrinks", sections=2)})
    world.run()
    assert world.documents()["shrinks"] == 2

    world.put("a.parquet", {**CORPUS, "shrinks": " \n\u200b"})
    report = world.run()

    assert "shrinks" not in world.documents()
    assert report["documents"] == counts(read=11, unchanged=10, empty=1)
    assert report["outcome"] == "succeeded"

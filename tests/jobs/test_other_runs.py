"""Runs of a part, with other settings, or beside another; collections that others touched."""

from dataclasses import replace

import pytest

from jobs.progress import Silence
from jobs.rerun import rerun_options
from jobs.run import run_job
from storage.errors import LeaseError
from storage.lease import acquire, this_process
from storage.vectors import connect
from tests.jobs.world import counts, manual
from tests.servers.openai_server import Fault

pytestmark = pytest.mark.server

CORPUS = {f"{n:02d}.md": manual(f"手册 {n}") for n in range(10)}


def test_a_backfill_of_a_part_touches_nothing_outside_it(world):
    world.put("2024/a.parquet", {"a": "Text a."})
    world.put("2025/b.parquet", {"b": "Text b.", "c": "Text c."})
    world.run()
    world.put("2024/a.parquet", {"a": "Text a, changed."})
    world.put("2025/b.parquet", {"b": "Text b, changed.", "c": "Text c."})

    report = world.run(prefix="2025/")

    assert report["documents"] == counts(read=2, stored=1, unchanged=1)
    assert world.run()["documents"] == counts(read=3, stored=1, unchanged=2)


def test_a_document_that_moves_into_the_part_is_not_missed_where_it_was(world):
    world.put("a/0.parquet", {"moves": "Here first. 先在这里。", "stays": "Stays."})
    world.put("b/0.parquet", {"b": "Text b."})
    world.run()
    world.put("a/0.parquet", {"stays": "Stays."})
    world.put("b/0.parquet", {"b": "Text b.", "moves": "Then here. 后在那里。"})

    report = world.run(prefix="b/")

    assert (report["outcome"], report["reason"]) == ("succeeded", "")
    assert world.documents() == {"moves": 1, "stays": 1, "b": 1}
    assert world.run()["outcome"] == "succeeded"
    assert world.documents() == {"moves": 1, "stays": 1, "b": 1}


def test_a_collection_that_was_emptied_behind_our_back_is_filled_again(world):
    world.put("a.parquet", CORPUS)
    world.run()
    rows = world.rows()
    with world.store() as store:
        store.delete([row.chunk_id for row in rows])

    report = world.run()

    assert report["documents"]["stored"] == 10
    assert world.rows() == rows


def test_a_collection_that_was_dropped_behind_our_back_is_built_of_what_is_there_now(world):
    """Nothing is left that could be deleted by mistake."""
    world.put("a.parquet", CORPUS)
    collection = world.run()["collection"]
    world.settings = {"chunking": {"max_tokens": 300}}
    world.run()
    database = connect(world.config.milvus)
    database.drop(collection)
    database.close()
    world.settings = {}
    world.put("a.parquet", {"00.md": CORPUS["00.md"]})

    report = world.run()

    assert (report["outcome"], report["collection"]) == ("succeeded", collection)
    assert list(world.documents()) == ["00.md"]


def test_a_rerun_with_other_settings_is_refused(world):
    """It would fill another collection, which nobody reads, with a part of the source."""
    world.put("a.parquet", {**CORPUS, "bad": "Some poison."})
    world.server.script(Fault(contains="poison", status=400))
    first = world.run()
    world.settings = {"chunking": {"max_tokens": 300}}

    refused = run_job(world.config, rerun_options(world.ledger, first["run_id"], 0), Silence())

    assert refused["outcome"] == "failed"
    assert "made with other settings" in refused["reason"]
    database = connect(world.config.milvus)
    names = [name for name in database.collections() if name.startswith(world.alias)]
    database.close()
    assert names == [first["collection"]]


def test_another_setting_builds_another_collection_and_pays_only_for_new_texts(world):
    world.put("a.parquet", {**CORPUS, "long": manual("long", sections=1, sentences=40)})
    first = world.run()
    world.server.forget()
    world.settings = {"chunking": {"max_tokens": 256, "overlap_tokens": 0}}

    second = world.run()

    assert second["collection"] != first["collection"]
    assert second["outcome"] == "succeeded"
    assert 0 < len(world.server.paid_texts()) < second["chunks"]["total"]
    assert len(world.rows()) == second["chunks"]["total"]


def test_another_model_behind_the_same_name_is_noticed_before_anything_is_written(world):
    world.put("a.parquet", CORPUS)
    world.run()
    fingerprint = world.ledger.runs()[0].fingerprint
    catalogue, etag = world.ledger.catalogue(fingerprint)
    world.ledger.write_catalogue(replace(catalogue, canary=catalogue.canary[::-1]), etag)

    report = world.run()

    assert report["outcome"] == "failed"
    assert "another model stands behind the same name" in report["reason"]


def test_the_second_writer_is_refused_by_name(world):
    world.put("a.parquet", CORPUS)
    ledger = world.ledger
    holder = this_process("the-other", private_workers=False)
    acquire(ledger.objects, ledger.lease_key, world.alias, holder)

    with pytest.raises(LeaseError, match="run the-other"):
        world.run()

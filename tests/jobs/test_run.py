"""What a run promises, on a real Milvus Lite and a real embedding server."""

from dataclasses import replace

import pytest

from chunking.model import Document
from jobs.progress import Silence
from jobs.rerun import rerun_options
from jobs.run import run_job
from storage.errors import LeaseError
from storage.lease import acquire, this_process
from storage.vectors import connect
from tests.jobs.world import manual, markdown
from tests.servers.openai_server import Fault

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


def test_one_bad_document_stays_alone_and_is_tried_again(world):
    world.put("a.parquet", {**CORPUS, "bad": "This text is poison for the model."})
    world.server.script(Fault(contains="poison", status=400, message="content policy"))

    first = world.run()
    world.server.forget()
    world.server.script(Fault(contains="poison", status=400, message="content policy"))
    second = world.run()

    for report in (first, second):
        assert report["outcome"] == "partial"
        assert report["documents"]["dead"] == 1
        (letter,) = report["dead_letters"]
        assert (letter["document_id"], letter["stage"]) == ("bad", "embed")
        assert "content policy" in letter["reason"]
    assert second["documents"]["unchanged"] == 10
    assert world.server.paid_texts() == []
    world.server.forget()
    assert world.run()["documents"] == counts(read=11, stored=1, unchanged=10)


def test_a_dead_document_keeps_the_rows_of_its_last_good_version(world):
    world.put("a.parquet", {**CORPUS, "d": "The good version."})
    world.run()
    world.put("a.parquet", {**CORPUS, "d": "A version that is poison."})
    world.server.script(Fault(contains="poison", status=400))

    report = world.run()

    assert report["documents"]["dead"] == 1
    assert world.documents()["d"] == 1
    assert len(world.rows()) == report["chunks"]["total"]


@pytest.mark.parametrize(
    ("key", "data"),
    [("empty.parquet", b""), ("torn.parquet", b"PAR1 but not really PAR1")],
)
def test_a_bad_object_is_reported_and_the_rest_goes_in(world, key, data):
    world.put("a.parquet", CORPUS)
    world.source.put(key, data)

    report = world.run()

    assert report["outcome"] == "partial"
    assert report["documents"] == counts(read=10, stored=10)
    (letter,) = report["dead_letters"]
    assert (letter["object_key"], letter["document_id"]) == (key, "")
    world.source.delete(key)
    assert world.run()["outcome"] == "succeeded"


def test_an_object_outside_the_part_that_cannot_be_read_is_not_the_backfills_affair(world):
    world.source.put("a/0.parquet", b"rubbish")
    world.put("b/0.parquet", CORPUS)

    report = world.run(prefix="b/")

    assert report["outcome"] == "succeeded"
    assert report["documents"] == counts(read=10, stored=10)


def test_an_object_whose_ids_turn_bad_behind_a_good_footer_keeps_its_rows(world):
    world.put("a.parquet", {"kept.md": "A text to keep."})
    world.put("b.parquet", CORPUS)
    world.run()
    data, _ = world.source.get("a.parquet")
    world.source.put("a.parquet", data[:4] + bytes(60) + data[64:])
    world.put("c.parquet", {"new.md": "A new text."})

    report = world.run()

    assert report["outcome"] == "partial"
    assert [letter["object_key"] for letter in report["dead_letters"]] == ["a.parquet"]
    assert sorted(world.documents()) == sorted([*CORPUS, "kept.md", "new.md"])


def test_an_object_that_turns_bad_keeps_its_rows(world):
    world.put("a.parquet", CORPUS)
    world.put("b.parquet", {"kept.md": manual("kept")})
    world.run()
    world.source.put("b.parquet", b"rubbish")

    report = world.run()

    assert report["outcome"] == "partial"
    assert "kept.md" in world.documents()


def test_the_same_document_twice_is_settled_by_order_and_named(world):
    world.put("a.parquet", {"twice": "The first text.", "once": "一次。"})
    world.put("b.parquet", {"twice": "Another text.", "same": "同"})
    world.put("c.parquet", {"same": "同"})

    report = world.run()

    assert report["documents"]["read"] == 3
    assert report["duplicates"] == {"dropped": 2, "equal": 1}
    (letter,) = report["dead_letters"]
    assert letter["document_id"] == "twice"
    assert letter["object_key"] == "b.parquet"
    assert "row 0 of a.parquet" in letter["reason"]
    with world.store() as store:
        hits = store.search(text="text", vector=None, mode="sparse", top_k=5)
    assert [hit.row["content"].split("\n")[-1] for hit in hits] == ["The first text."]


def test_a_row_that_repeats_one_of_an_unchanged_object_is_no_conflict(world):
    world.put("a.parquet", {"twice": "The same text.", "once": "一次。"})
    world.run()
    world.put("b.parquet", {"twice": "The same text."})

    report = world.run()

    assert report["dead_letters"] == []
    assert report["duplicates"] == {"dropped": 1, "equal": 1}
    assert report["outcome"] == world.run()["outcome"] == "succeeded"


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("scope", [{"prefix": "b/"}, {"only": frozenset(["b/0.parquet"])}])
def test_a_row_that_repeats_one_outside_the_scope_is_told_apart_from_a_conflict(
    world, known, scope
):
    world.put("a/0.parquet", {"same": "同样的文字。", "other": "One thing.", "一": "一次。"})
    if known:
        world.run()
    world.put("b/0.parquet", {"same": "同样的文字。", "other": "Another thing.", "b": "Own."})

    report = world.run(**scope)

    assert report["duplicates"] == {"dropped": 2, "equal": 1}
    (letter,) = report["dead_letters"]
    assert (letter["document_id"], letter["stage"]) == ("other", "duplicate")
    assert "row 1 of a/0.parquet" in letter["reason"]
    assert report["documents"]["stored"] == 1
    assert set(world.documents()) == ({"same", "other", "一", "b"} if known else {"b"})


def test_when_the_first_of_two_goes_the_second_takes_its_place(world):
    world.put("a.parquet", {**CORPUS, "twice": "The first text."})
    world.put("b.parquet", {"twice": "Another text."})
    world.run()
    world.put("a.parquet", CORPUS)

    report = world.run()

    assert report["outcome"] == "succeeded"
    assert report["documents"]["deleted"] == 0
    assert world.documents()["twice"] == 1
    with world.store() as store:
        (hit, *_) = store.search(text="Another", vector=None, mode="sparse", top_k=1)
    assert "Another text." in hit.row["content"]


def test_documents_that_collide_in_a_chunk_id_are_told_apart_and_named(world):
    """Document "a" with the text "1:chunk:0:x" and document "a:chunk:0:1" with the text "x"."""
    world.settings = {"chunking": {"label": ""}}
    world.put("a.parquet", [markdown("a", "1:chunk:0:x")])
    world.put("b.parquet", [markdown("a:chunk:0:1", "x")])

    report = world.run()

    assert report["outcome"] == "partial"
    (letter,) = report["dead_letters"]
    assert letter["document_id"] == "a:chunk:0:1"
    assert "document 'a'" in letter["reason"]
    assert world.documents() == {"a": 1}


def test_a_source_that_was_never_filled_is_told_how_to(world):
    report = world.run()

    assert report["outcome"] == "aborted"
    assert "`kitelift convert PATH --to" in report["reason"]
    assert "--allow-delete" not in report["reason"]


def test_an_empty_source_and_a_mass_deletion_stop_before_anything_is_touched(world):
    world.put("a.parquet", CORPUS)
    world.run()
    rows = world.rows()
    world.put("a.parquet", {"00.md": CORPUS["00.md"]})

    too_many = world.run()
    world.source.delete("a.parquet")
    nothing = world.run()

    assert too_many["outcome"] == nothing["outcome"] == "aborted"
    assert "9 of 10" in too_many["reason"]
    assert "--allow-delete" in too_many["reason"]
    assert "lists no Parquet object" in nothing["reason"]
    assert world.rows() == rows

    allowed = world.run(allow_delete=True)
    assert allowed["documents"]["deleted"] == 10
    assert world.rows() == []


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


def counts(**given: int) -> dict[str, int]:
    fates = ("read", "stored", "unchanged", "empty", "dead", "deleted")
    return {fate: given.get(fate, 0) for fate in fates}

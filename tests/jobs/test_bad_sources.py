"""Documents and objects that cannot go in, and sources that are not believed."""

import pytest

from tests.jobs.world import counts, manual, markdown
from tests.servers.openai_server import Fault

pytestmark = pytest.mark.server

CORPUS = {f"{n:02d}.md": manual(f"手册 {n}") for n in range(10)}


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

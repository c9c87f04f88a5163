"""CASES H inside a whole run: what the embedding server does wrong stays with what it was for."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from jobs.config import ChunkingSettings
from tests.servers.openai_server import Fault

pytestmark = pytest.mark.server

DOCUMENTS = {f"{n:02d}.md": f"Text number {n:02d}, 第{n:02d}篇。" for n in range(16)}


def fill(world, count):
    world.put("a.parquet", dict(list(DOCUMENTS.items())[:count]))


def counts(**fates):
    return {"read": 0, "stored": 0, "unchanged": 0, "empty": 0, "dead": 0, "deleted": 0} | fates


def letters(report):
    return {letter["document_id"]: letter["reason"] for letter in report["dead_letters"]}


def test_a_blank_chunk_is_never_sent_and_its_document_is_named(world, monkeypatch):
    """C83: it cannot come from a chunker of ours, so one is made that gives it."""
    monkeypatch.setattr(ChunkingSettings, "open", _blanking(ChunkingSettings.open))
    fill(world, 10)

    report = world.run()

    assert report["documents"] == counts(read=10, stored=9, dead=1)
    assert letters(report).keys() == {"03.md"}
    assert "blank" in letters(report)["03.md"]
    assert len(world.rows()) == 9
    assert all(text.strip() for call in world.server.calls() for text in call.texts)


def _blanking(open_chunker):
    class Blanking:
        def __init__(self, chunker):
            self._chunker, self.settings = chunker, chunker.settings

        def chunk(self, document):
            chunks = self._chunker.chunk(document)
            if document.document_id == "03.md":
                chunks = [replace(chunk, content="\u3000\n") for chunk in chunks]
            return chunks

    return lambda settings, *args, **kwargs: Blanking(open_chunker(settings, *args, **kwargs))


@pytest.mark.parametrize(("status", "said"), [(400, "too long"), (413, "Payload Too Large")])
def test_the_one_text_that_is_too_long_is_found_and_the_rest_goes_in(world, status, said):
    """C85."""
    fill(world, 16)
    world.server.script(Fault(contains="number 07", status=status, message=said))

    report = world.run()

    assert report["outcome"] == "partial"
    assert report["documents"] == counts(read=16, stored=15, dead=1)
    assert letters(report).keys() == {"07.md"}
    assert said in letters(report)["07.md"]
    assert len(world.server.calls()) <= 12 + 1  # and the canary
    assert len(world.rows()) == 15


def test_vectors_that_are_none_reach_no_row(world):
    """C87."""
    fill(world, 12)
    spoilt = {"02": "nan", "04": "null", "06": "empty", "08": "zero", "10": "short"}
    world.server.script(
        *(Fault(contains=f"number {number}", vector=how) for number, how in spoilt.items())
    )
    world.settings = {"embedding": {"max_request_inputs": 1}}

    report = world.run()

    assert report["documents"] == counts(read=12, stored=7, dead=5)
    assert sorted(letters(report)) == [f"{number}.md" for number in spoilt]
    assert sorted(world.documents()) == sorted(set(list(DOCUMENTS)[:12]) - letters(report).keys())
    world.server.forget()
    assert world.run()["documents"] == counts(read=12, stored=5, unchanged=7)
    assert len(world.server.paid_texts()) == 5


def test_a_server_that_asks_for_less_gets_less_and_everything_in_the_end(world):
    """C89; how long each wait is, is in tests/storage with a clock of its own."""
    fill(world, 16)
    tired = {"status": 429, "message": "slow down"}
    world.server.script(
        Fault(contains="number", times=1, headers=(("Retry-After", "1"),), **tired),
        Fault(contains="number", times=1, **tired),
        Fault(contains="number", times=1, headers=(("Retry-After", "3600"),), **tired),
    )
    world.settings = {
        "embedding": {"max_attempts": 5, "max_wait_seconds": 1, "max_request_inputs": 4}
    }

    report = world.run()

    assert report["outcome"] == "succeeded"
    assert report["documents"] == counts(read=16, stored=16)
    assert Counter(call.status for call in world.server.calls())[429] == 3
    assert max(Counter(world.server.paid_texts()).values()) == 1


def test_a_poisoned_batch_a_hang_and_a_cut_answer_cost_no_other_document(world):
    """C90: batch 1 always fails, 2 hangs until the time-out, 3 is cut once, 4 to 10 are fine."""
    fill(world, 10)
    world.settings = {
        "embedding": {"max_request_inputs": 1, "timeout_seconds": 1, "max_attempts": 2}
    }
    world.server.script(
        Fault(contains="number 00", status=500, message="boom"),
        Fault(contains="number 01", hang_seconds=30),
        Fault(contains="number 02", cut_json=True, times=1),
    )

    report = world.run()

    assert report["outcome"] == "partial"
    assert report["documents"] == counts(read=10, stored=8, dead=2)
    assert letters(report).keys() == {"00.md", "01.md"}
    assert all(letter["stage"] == "embed" for letter in report["dead_letters"])
    assert len(world.rows()) == 8
    world.server.forget()
    again = world.run()
    assert again["outcome"] == "succeeded"
    assert again["documents"] == counts(read=10, stored=2, unchanged=8)
    assert len(world.server.paid_texts()) == 2


def test_one_document_that_fails_for_good_is_named_each_time_and_tried_alone(world):
    """C122."""
    fill(world, 10)
    world.server.script(Fault(contains="number 04", status=400, message="content policy"))

    first = world.run()
    rows = world.rows()
    sent = len(world.server.calls())
    again = world.typed("run", "--json")

    assert again.returncode == 1, again.stderr
    for report in (first, json.loads(again.stdout)):
        (letter,) = report["dead_letters"]
        assert (letter["stage"], letter["document_id"]) == ("embed", "04.md")
        assert "content policy" in letter["reason"]
    assert len(rows) == 9
    assert world.rows() == rows
    texts = [text for call in world.server.calls()[sent:] for text in call.texts]
    assert {text for text in texts if "number" in text} == {
        text for text in texts if "number 04" in text
    }


@pytest.mark.cluster
@pytest.mark.faults
def test_workers_of_a_run_share_one_pace(world):
    """Twelve requests at two a second take five seconds and a half, however many send them."""
    for name, text in list(DOCUMENTS.items())[:12]:
        world.put(f"{name}.parquet", {name: text})
    world.settings = {
        "run": {"executor": "ray", "workers": 2},
        "embedding": {"requests_per_minute": 120, "max_attempts": 5},
    }
    world.server.script(Fault(contains="number", skip=4, times=2, status=429))

    run = world.command("run", "--run-id", "paced")

    assert run.returncode == 0, run.stderr
    report = world.ledger.report("paced")
    assert report["documents"] == counts(read=12, stored=12)
    assert report["seconds"] > 11 / 2
    assert max(Counter(world.server.paid_texts()).values()) == 1

"""Another setting builds beside what readers see; the alias moves when it is complete."""

import json
from contextlib import contextmanager

import pytest

from storage.errors import SettingError
from storage.lease import acquire, this_process
from storage.vectors import connect
from tests.jobs.world import manual
from tests.servers.openai_server import Fault

pytestmark = pytest.mark.server

CORPUS = {f"{n}.md": manual(f"手册 {n}") for n in range(6)}
OTHER = {"chunking": {"max_tokens": 200, "overlap_tokens": 0}}


@contextmanager
def database(world):
    opened = connect(world.config.milvus)
    try:
        yield opened
    finally:
        opened.close()


def target(world):
    with database(world) as opened:
        return opened.alias_target(world.alias)


@pytest.fixture
def filled(world):
    world.put("a.parquet", {**CORPUS, "poison.md": "A text of poison.\n"})
    world.put("b.parquet", {"b.md": manual("b")})
    world.run()
    return world


def test_the_alias_moves_only_when_the_new_collection_is_complete(filled):
    blue = target(filled)
    filled.settings = {**OTHER, "run": {"max_attempts": 1}}
    filled.server.script(Fault(status=500, contains="手册"))

    broken = filled.run()
    assert broken["outcome"] in {"partial", "failed"}
    assert target(filled) == blue
    filled.server.script()
    filled.server.forget()
    done = filled.run()

    assert done["outcome"] == "succeeded"
    assert target(filled) == done["collection"] != blue


def test_promote_and_rollback_move_the_alias_and_say_so(filled):
    blue = target(filled)
    filled.settings = {**OTHER, "run": {"promote": False}}
    green = filled.run()["collection"]
    assert target(filled) == blue

    promoted = filled.typed("promote", "--json")
    assert json.loads(promoted.stdout) == {
        "alias": filled.alias,
        "collection": green,
        "before": blue,
    }
    assert target(filled) == green
    again = filled.typed("promote")
    assert again.returncode == 3
    assert "nothing to promote" in again.stderr
    back = filled.typed("rollback", "--json")
    assert json.loads(back.stdout)["collection"] == blue
    assert target(filled) == blue


def test_after_a_rollback_no_run_moves_the_alias_forward_again(filled):
    blue = target(filled)
    filled.settings = OTHER
    green = filled.run()["collection"]
    assert filled.typed("rollback").returncode == 0
    filled.put("b.parquet", {"b.md": manual("b, changed")})

    nightly = filled.run()

    assert (nightly["outcome"], nightly["collection"]) == ("succeeded", green)
    assert target(filled) == blue
    filled.settings = {"chunking": {"max_tokens": 240}}
    third = filled.run()["collection"]
    assert target(filled) == third
    filled.settings = OTHER
    filled.run()
    assert target(filled) == green


def test_a_move_of_the_alias_is_on_record_even_if_the_run_dies_in_it(filled, monkeypatch):
    blue = target(filled)
    filled.settings = OTHER
    database_class = type(connect_to(filled))
    with monkeypatch.context() as patched:
        patched.setattr(database_class, "point_alias", killed_after(database_class.point_alias))
        with pytest.raises(SystemExit):
            filled.run()
    assert target(filled) != blue

    filled.run()

    assert filled.typed("rollback").returncode == 0
    assert target(filled) == blue


def test_gc_drops_a_collection_whose_runs_it_has_forgotten(filled):
    blue = target(filled)
    for tokens in (200, 220):
        filled.settings = {"chunking": {"max_tokens": tokens, "overlap_tokens": 0}}
        filled.run()
        assert filled.typed("gc", "--keep-runs", "0").returncode == 0

    with database(filled) as opened:
        assert blue not in opened.collections()


def test_gc_waits_for_no_run_and_touches_nothing_of_it(filled):
    ledger = filled.ledger
    holder = this_process("nightly", private_workers=False)
    lease = acquire(ledger.objects, ledger.lease_key, filled.alias, holder)
    before = list(ledger.objects.list(""))

    refused = filled.typed("gc", "--keep-runs", "0")

    assert refused.returncode == 4
    assert "run nightly" in refused.stderr
    assert [info.key for info in ledger.objects.list("")] == [info.key for info in before]
    assert filled.typed("gc", "--dry-run").returncode == 0
    lease.release()
    assert filled.typed("gc", "--keep-runs", "0").returncode == 0


def test_a_collection_with_the_alias_name_is_refused_and_left_alone(world):
    with database(world) as opened:
        opened.create(world.alias, opened_spec())
    world.put("a.parquet", CORPUS)

    report = world.run()

    assert report["outcome"] == "failed"
    assert "it is a collection" in report["reason"]
    with database(world) as opened:
        assert world.alias in opened.collections()
        opened.drop(world.alias)


def test_gc_keeps_what_the_alias_and_rollback_stand_on(filled):
    blue = target(filled)
    collections = []
    for tokens in (200, 220, 240):
        filled.settings = {"chunking": {"max_tokens": tokens, "overlap_tokens": 0}}
        collections.append(filled.run()["collection"])
    rows = filled.rows()

    planned = json.loads(filled.typed("gc", "--keep-runs", "1", "--dry-run", "--json").stdout)
    assert set(planned["collections"]) == {blue, collections[0]}
    filled.typed("gc", "--keep-runs", "1")

    with database(filled) as opened:
        left = [n for n in opened.collections() if n.startswith(filled.alias)]
        assert sorted(left) == sorted(collections[1:])
        with pytest.raises(SettingError):
            opened.drop(collections[-1])
    assert filled.rows() == rows
    filled.server.forget()
    again = filled.run()
    assert again["documents"]["unchanged"] == 8
    assert filled.server.paid_texts() == []
    assert filled.typed("verify").returncode == 0
    assert filled.typed("rollback").returncode == 0
    assert target(filled) == collections[1]


def connect_to(world):
    with database(world) as opened:
        return opened


def killed_after(method):
    def point_alias(*args):
        method(*args)
        raise SystemExit

    return point_alias


def opened_spec():
    from storage.protocols import CollectionSpec  # noqa: PLC0415

    return CollectionSpec(dim=32, fingerprint="f", model="m")

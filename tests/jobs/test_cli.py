"""The command line as a person meets it: exit codes, errors, help."""

import json
import re
import tomllib
from itertools import pairwise

import pytest
from click.testing import CliRunner

from jobs.cli import main
from jobs.config import Config, parse_config
from tests.jobs.world import manual
from tests.servers.openai_server import Fault

COMMANDS = sorted(main.commands)


def kitelift(*words, **options):
    return CliRunner().invoke(main, [str(word) for word in words], **options)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    told = kitelift(command, "--help").output

    assert re.search(rf"^  +kitelift {command}\b", told, re.MULTILINE), told


def test_the_configuration_page_is_the_default_configuration():
    page = kitelift("config").output

    written, default = parse_config(tomllib.loads(page), "the page"), parse_config({}, "defaults")
    assert written.chunking.open().settings == default.chunking.open().settings
    apart = {"chunking": default.chunking}
    assert written.model_copy(update=apart) == default.model_copy(update=apart)
    for section in Config.model_fields:
        assert f"[{section}]" in page


def test_every_key_of_the_page_has_a_comment():
    lines = kitelift("config").output.splitlines()

    for above, line in pairwise(lines):
        if "=" in line and not line.startswith("#"):
            assert above.startswith("#") or "=" in above, line


@pytest.mark.parametrize(
    ("source", "state"),
    [("s3://a/b", "s3://a/bc"), ("s3://a/b", "s3://a"), ("s3://a", "b/c"), ("a/b", "a")],
)
def test_the_ledger_may_stand_beside_the_source_or_above_it(source, state):
    parse_config({"source": {"uri": source}, "state": {"uri": state}}, "here")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[chunking]\nmax_token = 5\n", "max_token.*max_tokens"),
        ("[milvus]\nurl = 'x'\n", r"unknown key \[milvus\].url; did you mean 'uri'"),
        ("[runn]\n", r"unknown key \[runn\]; did you mean 'run'"),
        ("[embedding]\nmodell = 'x'\n", "did you mean 'model'"),
        ("[chunking]\nmax_tokens = 64\noverlap_tokens = 64\n", "64"),
        ("[chunking]\nstrategy = 'structur'\n", "structur.*structure"),
        (
            "[chunking]\nmax_tokens = 'many'\n",
            r"\[chunking\] max_tokens='many' must be a whole number",
        ),
        ("[chunking]\nlabel = 3\n", r"\[chunking\] has a value of the wrong kind"),
        ("[run]\nexecutor = 'spark'\n", r"\[run\].executor = 'spark'.*'ray' or 'inline'"),
        ("[limits]\nmax_delete_ratio = 2\n", r"\[limits\].max_delete_ratio = 2"),
        ("[milvus]\nuri = 'http://root:Milvus@host'\n", "KITELIFT_MILVUS_TOKEN"),
        ("[source]\nuri = '.'\n", r"\[state\].uri = 'kitelift-state' lies in"),
        ("[source]\nuri = 's3://a/b/'\n[state]\nuri = 's3://a/b/c'\n", r"lies in \[source\].uri"),
        ("not toml", "kitelift.toml"),
    ],
)
def test_a_wrong_configuration_is_refused_in_one_line_before_anything_runs(here, text, told):
    (here / "kitelift.toml").write_text(text, encoding="utf-8")

    run = kitelift("run")

    assert run.exit_code == 2
    assert re.search(told, run.stderr, re.DOTALL), run.stderr
    assert run.stderr.count("\n") <= 2
    assert run.stdout == ""


def test_a_missing_configuration_file_says_how_to_make_one(here):
    run = kitelift("run", "-c", "nowhere.toml")

    assert run.exit_code == 2
    assert "kitelift config > nowhere.toml" in run.stderr


@pytest.mark.parametrize("command", ["status", "report"])
def test_without_a_run_status_and_report_say_how_to_start_one(here, command):
    asked = kitelift(command)

    assert asked.exit_code == 2
    assert "`kitelift run`" in asked.stderr


def test_an_unknown_run_is_named(here):
    for command in ("status", "report", "rerun"):
        asked = kitelift(command, "yesterday")
        assert asked.exit_code == 2
        assert "'yesterday'" in asked.stderr
        assert "`kitelift runs`" in asked.stderr


def test_search_before_the_first_run_says_what_makes_the_alias(here):
    asked = kitelift("search", "anything", "--mode", "sparse")

    assert asked.exit_code == 3
    assert "`kitelift run`" in asked.stderr


@pytest.mark.server
class TestOnRealServers:
    def test_run_report_and_runs_tell_the_same(self, world):
        world.put("a.parquet", {f"{n}.md": manual(f"手册 {n}") for n in range(3)})

        run = world.command("run", "--json")

        assert run.returncode == 0, run.stderr
        told = json.loads(run.stdout)
        again = world.typed("report", told["run_id"], "--json")
        assert json.loads(again.stdout) == told
        (listed,) = json.loads(world.typed("runs", "--json").stdout)
        assert (listed["run_id"], listed["state"]) == (told["run_id"], "succeeded")
        for name in ("run_id", "outcome", "documents", "chunks", "embedding", "shards", "seconds"):
            assert name in told
        assert set(told["documents"]) == {
            *("read", "stored", "unchanged", "empty", "dead", "deleted")
        }

    def test_plan_tells_beforehand_what_run_then_does(self, world):
        world.put("a.parquet", {f"{n}.md": manual(f"手册 {n}") for n in range(9)})
        planned = json.loads(world.typed("plan", "--json").stdout)
        assert planned["builds_collection"]
        assert planned["documents"]["new"] == 9
        assert world.ledger.runs() == []
        done = world.run()
        assert planned["chunks"]["to_upsert"] == done["chunks"]["upserted"]
        assert planned["embedding"]["texts"] == done["embedding"]["texts"]

        changed = {f"{n}.md": manual(f"手册 {n}") for n in range(1, 9)}
        changed["1.md"] = "A new first paragraph.\n\n" + changed["1.md"]
        world.put("a.parquet", {**changed, "new.md": "Quite new."})
        planned = json.loads(world.typed("plan", "--json").stdout)
        done = world.run()

        assert planned["documents"] == {
            "read": 9,
            "new": 1,
            "changed": 1,
            "unchanged": 7,
            "empty": 0,
            "dead": 0,
            "vanished": 1,
        }
        assert planned["chunks"]["to_upsert"] == done["chunks"]["upserted"]
        assert planned["embedding"]["texts"] == done["embedding"]["texts"]

    def test_a_partial_run_exits_with_1_and_rerun_looks_at_nothing_else(self, world):
        world.put("good.parquet", {"good": "Fine."})
        world.put("bad.parquet", {"bad": "This is poison.", "beside": "Fine too."})
        world.server.script(Fault(contains="poison", status=400))
        run = world.typed("run", "--json")
        assert run.returncode == 1
        world.server.forget()

        again = world.typed("rerun", json.loads(run.stdout)["run_id"], "--json")

        told = json.loads(again.stdout)
        assert again.returncode == 0, again.stderr
        assert told["documents"]["read"] == 2
        assert told["documents"]["stored"] == 1
        assert len(world.server.paid_texts()) == 1
        assert world.documents() == {"bad": 1, "beside": 1, "good": 1}

    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"milvus": {"uri": "http://127.0.0.1:1", "connect_seconds": 1}}, "127.0.0.1:1"),
            ({"embedding": {"base_url": "http://127.0.0.1:1/v1"}}, "127.0.0.1:1"),
            ({"source": {"uri": "s3://no-such-bucket/x"}}, "no-such-bucket"),
        ],
    )
    def test_what_every_document_would_meet_stops_the_run_before_money_is_spent(
        self, world, s3_settings, settings, told
    ):
        world.settings = {**settings, "s3": {"endpoint_url": s3_settings.endpoint_url}}
        world.put("a.parquet", {"a": "Text."})

        run = world.typed("run", "--json")

        assert run.returncode == 3
        assert told in run.stderr
        assert "Traceback" not in run.stderr
        report = json.loads(run.stdout)
        assert report["outcome"] == "failed"
        assert told in report["reason"]
        assert world.server.paid_texts() == []

    def test_another_run_is_refused_with_4_and_says_so_in_json(self, world):
        from storage.lease import acquire, this_process  # noqa: PLC0415

        world.put("a.parquet", {"a": "Text."})
        ledger = world.ledger
        holder = this_process("theirs", private_workers=False)
        acquire(ledger.objects, ledger.lease_key, world.alias, holder)

        run = world.typed("run", "--json")

        assert run.returncode == 4
        assert "run theirs" in run.stderr
        assert "--wait" in run.stderr
        assert json.loads(run.stdout)["outcome"] == "refused"

    def test_doctor_names_each_part_and_the_one_that_is_away(self, world):
        world.put("a.parquet", {"a": "Text."})
        world.run()
        well = world.typed("doctor")
        world.settings = {"embedding": {"base_url": "http://127.0.0.1:1/v1"}}

        ill = world.typed("doctor", "--json")

        assert well.returncode == 0, well.stdout
        assert "1 rows" in well.stdout
        assert ill.returncode == 3
        assert [f["part"] for f in json.loads(ill.stdout) if not f["ok"]] == ["embedding"]

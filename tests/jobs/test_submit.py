"""Commands as Ray jobs: named after their tick, joined, followed, stopped, exit codes and all."""

import re
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ray.job_submission import JobSubmissionClient

from jobs.config import ConfigError, parse_config
from jobs.submission import make_submission, tick_of
from tests.jobs.world import manual
from tests.servers.openai_server import Fault

NOW = datetime(2026, 11, 30, 13, 7, 30, tzinfo=UTC)
SHARED = {
    "source": {"uri": "s3://corpus/parsed"},
    "state": {"uri": "s3://corpus/kitelift"},
    "milvus": {"uri": "http://milvus:19530"},
}

SECRETS = {
    "KITELIFT_EMBEDDING_API_KEY": "sk-planted-with-the-submitter-77aa",
    "KITELIFT_MILVUS_TOKEN": "root:planted-with-the-submitter-88bb",
}


def named(*words: str, tick: str = "2026-11-30T02:00", **changes) -> str:
    config = parse_config({**SHARED, **changes}, "here")
    return make_submission(words, config, tick=tick, now=NOW).submission_id


class TestNames:
    @pytest.mark.parametrize(
        ("every", "tick"),
        [
            ("15m", "2026-11-30T13:00+00:00"),
            ("6h", "2026-11-30T12:00+00:00"),
            ("1d", "2026-11-30T00:00+00:00"),
            ("1w", "2026-11-26T00:00+00:00"),
        ],
    )
    def test_a_tick_is_the_last_of_its_schedule(self, every, tick):
        assert tick_of(every, NOW) == tick

    @pytest.mark.parametrize("every", ["", "1", "d", "0d", "1y", "1.5h", "-1d"])
    def test_what_is_no_length_of_time_is_refused(self, every):
        with pytest.raises(ConfigError, match="15m, 6h, 1d or 1w"):
            tick_of(every, NOW)

    def test_a_second_firing_of_a_tick_has_the_name_of_the_first(self):
        assert named("run") == named("run")
        assert re.fullmatch(r"kitelift-run-[0-9a-f]{10}-20261130T0200", named("run"))

    def test_another_tick_command_or_configuration_has_another_name(self):
        names = {
            named("run"),
            named("run", tick="2026-12-01T02:00"),
            named("run", "--full"),
            named("run", milvus={"uri": "http://milvus:19530", "collection": "other"}),
        }

        assert len(names) == 4

    def test_without_a_tick_each_submission_stands_for_itself(self):
        assert named("run", tick="") != named("run", tick="")

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ((), "submit -- run"),
            (("rm", "-rf"), "cannot submit 'rm -rf'"),
            (("run", "-c", "x.toml"), "before the `--`"),
            (("run", "--config=x.toml"), "before the `--`"),
        ],
    )
    def test_what_cannot_be_submitted_is_refused(self, words, told):
        with pytest.raises(ConfigError, match=re.escape(told)):
            named(*words)

    @pytest.mark.parametrize("section", ["source", "state", "milvus"])
    def test_a_folder_that_the_cluster_would_not_see_is_refused(self, section):
        with pytest.raises(ConfigError, match=rf"\[{section}\].uri = 'here'"):
            named("run", **{section: {"uri": "here"}})

    def test_words_with_blanks_and_quotes_arrive_as_they_are(self):
        words = ("run", "--prefix", "年度 'x'; rm -rf /")
        made = make_submission(words, parse_config(SHARED, "here"), tick="", now=NOW)

        printed = subprocess.run(
            made.entrypoint.replace("python -m jobs", "printf '%s\\n'", 1),
            shell=True,
            capture_output=True,
            text=True,
            check=True,
        )

        assert printed.stdout.splitlines() == list(words)


@pytest.mark.server
@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore:ssl=None is deprecated")  # Ray's client gives it to aiohttp
class TestOnACluster:
    @pytest.fixture(autouse=True)
    def corpus(self, world):
        world.put("a.parquet", {f"{n}.md": manual(f"手册 {n}") for n in range(4)})

    def test_a_run_is_followed_and_a_second_firing_joins_it(self, world, submit):
        world.settings = {"run": {"executor": "ray", "shard_documents": 2}}
        tick = ("--tick", "2026-11-30T02:00", "--", "run", "--json")

        first = submit(*tick)
        second = submit(*tick)

        assert first.returncode == 0, first.stdout + first.stderr
        assert second.returncode == 0, second.stdout + second.stderr
        assert '"outcome": "succeeded"' in first.stdout
        assert second.stdout == first.stdout
        assert first.stderr.strip().endswith(": submitted")
        assert ": joined" in second.stderr
        assert len(world.ledger.runs()) == 1
        assert len(world.documents()) == 4

    def test_a_job_is_left_alone_asked_for_stopped_and_its_tick_started_anew(self, world, submit):
        world.server.script(Fault(contains="手册", hang_seconds=600))
        tick = ("--tick", "2026-11-30T02:00")

        left = submit(*tick, "--no-wait", "--", "run")

        name = left.stdout.strip()
        assert left.returncode == 0, left.stdout + left.stderr
        wait_for(world.server.calls, lambda: submit("--logs", name).stdout)
        assert f"{name}: RUNNING" in submit("--status", name).stdout
        assert submit("--stop", name).stdout.strip() == f"{name}: stopping"
        wait_for(lambda: f"{name}: STOPPED, exit code 3" in submit("--status", name).stdout)
        world.server.script()
        joined = submit(*tick, "--", "run")
        assert joined.returncode == 3
        assert "--retry starts it anew" in joined.stderr
        anew = submit(*tick, "--retry", "--", "run")
        assert anew.returncode == 0, anew.stdout + anew.stderr + submit("--status", name).stdout
        assert len(world.documents()) == 4

    def test_the_cluster_is_told_nothing_but_the_command_and_the_configuration(
        self, submit, ray_head
    ):
        left = submit("--", "plan", "--no-such-option", **SECRETS)

        assert left.returncode == 2, left.stdout + left.stderr  # that of the command
        assert "no-such-option" in left.stdout
        client = JobSubmissionClient(ray_head.address)
        (job,) = [j for j in client.list_jobs() if (j.submission_id or "none") in left.stderr]
        assert job.entrypoint == "python -m jobs plan --no-such-option"
        assert set(job.runtime_env) <= {"working_dir", "_ray_commit"}
        logs = [path.read_text("utf-8", "replace") for path in ray_head.folder.rglob("*.*")]
        told = "\n".join([job.model_dump_json(), left.stdout + left.stderr, *logs])
        assert not [secret for secret in SECRETS.values() if secret in told]

    def test_with_code_the_cluster_runs_what_was_sent_along(self, world, submit):
        world.server.script(Fault(status=401))  # so that a traceback tells where the code lies

        told = submit("--with-code", "--", "plan", "--debug")

        assert told.returncode == 1
        files = re.findall(r'File "([^"]+/(?:jobs|storage)/[^"]+)"', told.stdout)
        assert {Path(file).parent.name for file in files} >= {"jobs", "storage"}, told.stdout
        assert all("py_modules_files/_ray_pkg_" in file for file in files)

    def test_an_unknown_job_and_a_dead_address_are_told_in_a_sentence(self, submit):
        unknown = submit("--status", "kitelift-nothing")
        dead = submit("--address", "http://127.0.0.1:1", "--status", "x")

        assert unknown.returncode == 2
        assert "knows no job 'kitelift-nothing'" in unknown.stderr
        assert dead.returncode == 3
        assert "127.0.0.1:1" in dead.stderr
        assert "`ray start --head`" in dead.stderr


def wait_for(happened, told=str, seconds=60):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, told()
        time.sleep(0.1)

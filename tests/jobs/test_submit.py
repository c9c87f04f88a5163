"""Commands as Ray jobs: named after their tick, joined, followed, stopped, exit codes and all."""

import json
import re
import subprocess
import time
from datetime import UTC, datetime

import pytest

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
class TestOnACluster:
    @pytest.fixture
    def submit(self, world, ray_head):
        world.put("a.parquet", {f"{n}.md": manual(f"手册 {n}") for n in range(4)})

        def submit(*words: str) -> "subprocess.CompletedProcess[str]":
            line = (*words[:1], "--address", ray_head.address, *words[1:])
            return world.command(*line, RAY_AUTH_MODE="disabled")

        return submit

    def test_a_run_is_followed_and_a_second_firing_joins_it(self, world, submit):
        world.settings = {"run": {"executor": "ray", "shard_documents": 2}}
        tick = ("submit", "--tick", "2026-11-30T02:00", "--", "run", "--json")

        first = submit(*tick)
        second = submit(*tick)

        assert first.returncode == second.returncode == 0, first.stderr + first.stdout
        assert '"outcome": "succeeded"' in first.stdout
        assert '"outcome": "succeeded"' in second.stdout
        assert ": submitted" in first.stderr
        assert ": joined" in second.stderr
        assert len(world.ledger.runs()) == 1
        assert len(world.documents()) == 4

    def test_exit_codes_of_the_command_come_back_and_retry_starts_anew(self, world, submit):
        world.server.script(Fault(contains="手册", status=401, message="bad key"))
        tick = ("submit", "--tick", "2026-11-30T02:00")

        stopped = submit(*tick, "--", "run")
        usage = submit("submit", "--", "run", "--no-such-option")
        world.server.script()
        mended = submit(*tick, "--retry", "--", "run")

        assert stopped.returncode == 3, stopped.stdout
        assert "refused the credentials" in stopped.stdout
        assert usage.returncode == 2
        assert mended.returncode == 0, mended.stdout + mended.stderr
        assert len(world.documents()) == 4

    def test_a_job_is_left_alone_asked_for_and_stopped_and_the_next_run_goes_on(
        self, world, submit
    ):
        world.settings = {"run": {"executor": "inline", "lease_seconds": 5}}
        world.server.script(Fault(contains="手册", hang_seconds=600))

        left = submit("submit", "--no-wait", "--", "run")

        name = left.stdout.strip()
        assert left.returncode == 0, left.stderr
        deadline = time.monotonic() + 60
        while not world.server.calls():
            assert time.monotonic() < deadline, submit("submit", "--logs", name).stdout
            time.sleep(0.2)
        assert f"{name}: RUNNING" in submit("submit", "--status", name).stdout
        assert submit("submit", "--stop", name).stdout.strip() == f"{name}: stopping"
        while "RUNNING" in (told := submit("submit", "--status", name).stdout):
            assert time.monotonic() < deadline + 60
        assert f"{name}: STOPPED, exit code 3" in told
        world.server.script()
        went_on = submit("submit", "--", "run", "--wait", "60", "--json")
        assert went_on.returncode == 0, went_on.stdout
        assert len(world.documents()) == 4

    def test_the_cluster_is_told_nothing_but_the_command_and_the_configuration(
        self, world, submit, ray_head
    ):
        left = submit("submit", "--", "plan")

        from ray.job_submission import JobSubmissionClient  # noqa: PLC0415

        (job,) = [
            job
            for job in JobSubmissionClient(ray_head.address).list_jobs()
            if job.submission_id and job.submission_id in left.stderr
        ]
        assert job.entrypoint == "python -m jobs plan"
        assert set(job.runtime_env) <= {"working_dir", "_ray_commit"}
        assert "env_vars" not in json.dumps(job.runtime_env)

    def test_an_unknown_job_and_a_dead_address_are_told_in_a_sentence(self, submit, world):
        unknown = submit("submit", "--status", "kitelift-nothing")
        dead = world.command("submit", "--address", "http://127.0.0.1:1", "--status", "x")

        assert unknown.returncode == 2
        assert "knows no job 'kitelift-nothing'" in unknown.stderr
        assert dead.returncode == 3
        assert "127.0.0.1:1" in dead.stderr
        assert "Traceback" not in dead.stderr

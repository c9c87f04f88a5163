"""The webhook: it hears of every end of a run, and can spoil none."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from jobs.notify import message, notify
from tests.jobs.reports import HOSTILE, partial_report
from tests.jobs.test_cli import kitelift


class Hook:
    """A webhook on loopback that answers with each status in turn, the last one for ever."""

    def __init__(self) -> None:
        self.statuses = [200]
        self.heard: list[dict] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.heard.append(json.loads(body))
                status = hook.statuses[min(len(hook.heard), len(hook.statuses)) - 1]
                self.send_response(status)
                self.end_headers()

            def log_message(self, *args: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/services/T0/s3cr3t"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def hook():
    hook = Hook()
    yield hook
    hook.server.shutdown()
    hook.server.server_close()


def post(url: str) -> list[str]:
    told: list[str] = []
    notify(url, partial_report(), told.append, first_wait_seconds=0.01)
    return told


def test_the_outcome_arrives_without_anything_of_a_document(hook):
    assert post(hook.url) == []

    (heard,) = hook.heard
    assert heard == message(partial_report())
    assert (heard["outcome"], heard["exit_code"], heard["dead_letters_total"]) == ("partial", 1, 1)
    assert heard["text"] == (
        "Kitelift run 20261130T020000Z-1a2b3c on docs partial: limits.max_cost = 1 is reached "
        "(240 stored, 0 deleted, 0 dead of 1440 read)"
    )
    assert HOSTILE not in json.dumps(heard, ensure_ascii=False)


def test_a_passing_fault_is_tried_again(hook):
    hook.statuses = [503, 429, 200]

    assert post(hook.url) == []
    assert len(hook.heard) == 3


@pytest.mark.parametrize(("status", "attempts"), [(500, 4), (404, 1)])
def test_a_webhook_that_refuses_is_told_of_by_its_host_alone(hook, status, attempts):
    hook.statuses = [status]

    (told,) = post(hook.url)

    assert told == f"the webhook at 127.0.0.1 did not take the outcome: HTTP {status}"
    assert len(hook.heard) == attempts


def test_an_address_from_the_environment_is_taken_before_the_configured_one(hook, monkeypatch):
    monkeypatch.setenv("KITELIFT_NOTIFY_URL", hook.url)

    assert post("http://127.0.0.1:1/") == []
    assert len(hook.heard) == 1


@pytest.mark.parametrize("url", ["ftp://host", "https://", "https://user:word@host/"])
def test_an_address_that_cannot_work_is_refused_before_the_run(tmp_path, monkeypatch, url):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kitelift.toml").write_text(f"[run]\nnotify_url = '{url}'\n", encoding="utf-8")

    run = kitelift("run")

    assert run.exit_code == 2
    assert "[run].notify_url" in run.stderr


@pytest.mark.server
class TestOfRuns:
    def test_a_run_tells_how_it_ended_and_keeps_its_exit_code_when_nobody_listens(
        self, world, hook
    ):
        world.settings = {"run": {"notify_url": hook.url}}
        world.put("a.parquet", {"a": "Text. 文字。"})
        assert world.command("run").returncode == 0
        hook.statuses = [404]

        again = world.command("run")

        assert again.returncode == 0
        assert "the webhook at 127.0.0.1 did not take the outcome" in again.stderr
        assert "s3cr3t" not in again.stderr
        assert [heard["outcome"] for heard in hook.heard] == ["succeeded", "succeeded"]

    def test_a_run_that_never_began_is_told_of_too(self, world, hook, s3_settings):
        unreachable = {"state": {"uri": "s3://no-such-bucket/x"}}
        s3 = {"s3": {"endpoint_url": s3_settings.endpoint_url}}
        world.settings = {"run": {"notify_url": hook.url}, **unreachable, **s3}

        run = world.command("run", "--json")

        assert run.returncode == 3
        assert json.loads(run.stdout)["outcome"] == "failed"
        (heard,) = hook.heard
        assert (heard["outcome"], heard["exit_code"]) == ("failed", 3)
        assert "no-such-bucket" in heard["reason"]

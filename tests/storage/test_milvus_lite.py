"""Milvus Lite as a server of its own: it starts, it is alone, and it never outlives us."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from storage.errors import SettingError, StoreUnavailableError
from storage.milvus_lite import reachable, serve
from storage.milvus_settings import MilvusSettings
from storage.vectors import connect
from tests.servers.milvus import SPEC
from tests.storage.chunks import a_chunk, put

pytestmark = pytest.mark.server


def answers(uri):
    address = urlsplit(uri)
    with socket.socket() as probe:
        return probe.connect_ex((address.hostname, address.port)) == 0


def servers_of(folder):
    """Our child processes that serve the folder; other tests' servers are our children too."""
    return [c for c in psutil.Process().children() if str(folder) in c.cmdline()]


def eventually(condition, seconds=15.0):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def start_owner(folder, *, then="time.sleep(600)"):
    """Another Python process that serves the folder and prints the address."""
    code = f"""
        import os, time
        from storage.milvus_lite import serve
        with serve({str(folder)!r}) as uri:
            print(uri, flush=True)
            {then}
    """
    owner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    return owner, owner.stdout.readline().strip()


def test_rows_are_there_when_the_folder_is_served_again(tmp_path):
    chunk = a_chunk()
    for write in (True, False):
        with serve(tmp_path / "milvus.db") as uri:
            database = connect(MilvusSettings(uri=uri))
            if write:
                database.create("docs_1", SPEC)
                database.point_alias("docs", "docs_1")
                put(database.open("docs"), [chunk])
            keys = database.open("docs").keys_of([chunk.document_id])
            assert [key.chunk_id for key in keys] == [chunk.chunk_id]
            assert database.describe("docs") == SPEC
            database.close()


def test_it_listens_on_loopback_only_and_ends_with_its_context(tmp_path):
    with serve(tmp_path) as uri:
        assert urlsplit(uri).hostname == "127.0.0.1"
        (child,) = servers_of(tmp_path)
        listening = {c.laddr.ip for c in child.net_connections() if c.status == "LISTEN"}
        assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}

    assert not answers(uri)
    assert not child.is_running()


def test_it_ends_when_the_run_fails(tmp_path):
    def run():
        with serve(tmp_path) as uri:
            raise RuntimeError(uri)

    with pytest.raises(RuntimeError) as failure:
        run()
    assert not answers(str(failure.value))


def test_a_second_run_on_the_same_folder_is_told_who_has_it(tmp_path):
    with (
        serve(tmp_path) as uri,
        pytest.raises(SettingError, match=f"another kitelift run.*{tmp_path}.*server"),
        serve(tmp_path),
    ):
        pass
    assert not answers(uri)
    with serve(tmp_path):  # and it is free again
        pass


@pytest.mark.parametrize(
    ("then", "children"),
    [
        ("time.sleep(600)", 1),
        ("time.sleep(600 if os.fork() else 20)", 2),  # a fork that holds the pipe open
    ],
    ids=["alone", "with a fork"],
)
def test_it_ends_when_its_owner_is_killed_and_the_folder_is_free(tmp_path, then, children):
    owner, uri = start_owner(tmp_path, then=then)
    assert eventually(lambda: len(psutil.Process(owner.pid).children()) == children)
    family = psutil.Process(owner.pid).children()
    assert answers(uri)

    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    assert eventually(lambda: not answers(uri))
    assert eventually(lambda: _can_be_served(tmp_path))
    for process in family:  # the fork
        if process.is_running():
            process.kill()


def test_the_lock_of_a_dead_process_does_not_block(tmp_path):
    owner, uri = start_owner(tmp_path)
    (server,) = psutil.Process(owner.pid).children()
    server.kill()
    assert eventually(lambda: not answers(uri))
    assert (tmp_path / "LOCK").exists()

    with serve(tmp_path) as again:
        assert answers(again)
    owner.kill()
    owner.wait()
    owner.stdout.close()


def test_ctrl_c_reaches_the_run_and_leaves_the_server_to_it(tmp_path):
    with serve(tmp_path):
        (child,) = servers_of(tmp_path)
        assert os.getpgid(child.pid) != os.getpgid(0)


def test_nothing_of_it_goes_to_our_output(tmp_path, capfd):
    with serve(tmp_path) as uri:
        database = connect(MilvusSettings(uri=uri))
        database.create("docs", SPEC)
        put(database.open("docs"), [a_chunk(content="结巴分词 prints when it loads")])
        database.close()

    assert capfd.readouterr() == ("", "")
    assert "jieba" in (tmp_path / "server.log").read_text()


def test_a_file_is_no_folder_of_milvus_lite(tmp_path):
    old = tmp_path / "milvus.db"
    old.write_bytes(b"SQLite format 3")

    with pytest.raises(SettingError, match=r"milvus\.db cannot be a folder"), serve(old):
        pass
    assert old.read_bytes() == b"SQLite format 3"


def test_a_server_that_does_not_start_in_time_is_reported_and_ended(tmp_path):
    with (
        pytest.raises(StoreUnavailableError, match=r"no answer within.*server\.log"),
        serve(tmp_path, start_seconds=0.001),
    ):
        pass
    assert servers_of(tmp_path) == []
    assert _can_be_served(tmp_path)


def test_a_relative_path_is_served_from_where_the_run_was_started(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with reachable(MilvusSettings(uri="./milvus.db", collection="kite")) as settings:
        assert settings.uri.startswith("http://127.0.0.1:")
        assert settings.collection == "kite"
    assert Path("milvus.db/LOCK").exists()


def test_the_address_of_a_server_is_used_as_it_is():
    settings = MilvusSettings(uri="http://milvus.example:19530")

    with reachable(settings) as same:
        assert same == settings


def _can_be_served(folder):
    try:
        with serve(folder):
            return True
    except SettingError:
        return False

"""Calls of `kitelift convert` that end at any moment."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from storage.local_objects import LocalObjectStore
from tests.jobs.conversion.calls import (
    PROJECT,
    convert,
    documents,
    ids_in_any_object,
    many,
    objects,
    write,
)

pytestmark = pytest.mark.usefixtures("folder")


def test_after_a_call_that_broke_off_at_any_write_the_next_one_finishes_and_nothing_was_missing(
    monkeypatch,
):
    """At each write or delete in turn the process ends; readers see every document all along."""
    put, delete = LocalObjectStore.put, LocalObjectStore.delete
    left = 0

    def counted(method):
        def call(*arguments, **named):
            nonlocal left
            if left == 0:
                assert staying <= ids_in_any_object()
                raise KeyboardInterrupt
            left -= 1
            method(*arguments, **named)

        return call

    write(many())
    convert("docs", to="start", object_bytes=8000)
    before = documents("start")
    for path in sorted(Path("docs").rglob("*.md"))[5:20]:
        path.write_text("# Grown\n\n" + "Satz. " * 400)
    for path in sorted(Path("docs").rglob("*.md"))[30:45]:
        path.unlink()
    convert("docs", to="end", object_bytes=8000)
    staying = set(before) & set(documents("end"))

    monkeypatch.setattr(LocalObjectStore, "put", counted(put))
    monkeypatch.setattr(LocalObjectStore, "delete", counted(delete))
    broken = 0
    for writes in range(100):
        shutil.rmtree("out", ignore_errors=True)
        shutil.copytree("start", "out")
        left = writes
        try:
            convert("docs", object_bytes=8000)
            break
        except KeyboardInterrupt:
            broken += 1
        left = -1
        convert("docs", object_bytes=8000)
        assert objects() == objects("end"), f"after {writes} writes"

    assert broken > 5
    assert objects() == objects("end")


def test_a_killed_call_leaves_no_process_behind_and_the_next_one_finishes():
    write({f"docs/{n:04d}.md": "# T\n\n" + "Wort. " * 300 for n in range(2000)})
    command = [sys.executable, "-m", "jobs", "convert", "docs", "--to", "out", "--object-mb", "1"]
    call = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: Path("out").is_dir() and any(Path("out").glob("part-*")))
    call.kill()
    call.wait()
    wait_for(lambda: not is_alive(call.pid))

    early = len(objects())
    report = convert("docs", object_bytes=1 << 20)
    assert report["files"]["unchanged"] > 0
    assert report["objects"] > early
    assert len(documents()) == 2000


def is_alive(session: int) -> bool:
    """Whether any process of the session is left that is no zombie."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = stat.read_text().rpartition(") ")[2].split()[:4]
        except OSError:
            continue
        if int(its_session) == session and state != "Z":
            return True
    return False


def wait_for(condition, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)

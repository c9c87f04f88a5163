"""Runs in processes of their own: started, watched, and never left behind."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.jobs.world import World


@contextmanager
def running(world: World, *words: str, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """`kitelift WORDS`, killed at the end if it still runs; `told(world)` is what it said."""
    with (world.folder / "said.log").open("wb") as log:
        run = subprocess.Popen(
            world.command_line(*words),
            cwd=world.folder,
            env=world.environment(**environment),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield run
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def told(world: World) -> str:
    return (world.folder / "said.log").read_text(encoding="utf-8")

"""Runs that are going to be killed: forks of one process that has imported all, and opened nothing.

    python -m tests.jobs.forked

reads orders from its input, a line of JSON each, and answers with the exit code of the run: -9 for
one that was killed. A fresh interpreter would need two seconds of imports for each.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import storage.openai_endpoint  # noqa: F401 - imported late elsewhere
from jobs.config import load_config
from jobs.progress import Silence
from jobs.run import RunOptions, run_job
from tests.jobs.world import PROJECT, World, manual, markdown


@dataclass(frozen=True, slots=True)
class Forks:
    process: "subprocess.Popen[str]"

    def kill(self, world: World, edge: str, *, run_id: str = "") -> None:
        """Run, and die at this edge."""
        assert self.run(world, edge, run_id=run_id)[0] == -signal.SIGKILL

    def run(self, world: World, kill_at: str, *, run_id: str = "") -> tuple[int, str]:
        """Run, to be killed at some edge; give the exit code, and the edge if it came to it."""
        once = world.folder / "killed"
        once.unlink(missing_ok=True)
        environment = {"KITELIFT_KILL_AT": kill_at, "KITELIFT_KILL_ONCE": str(once)}
        order = {
            "config": str(world.config_file()),
            "environment": environment,
            "run_id": run_id,
        }
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(order), file=self.process.stdin, flush=True)
        code = int(self.process.stdout.readline())
        return code, once.read_text(encoding="ascii") if once.exists() else ""


@contextmanager
def forks() -> Iterator[Forks]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.jobs.forked"],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:  # closes its input, which ends it
        yield Forks(process)


def main() -> None:
    config = load_config(None)
    config.chunking.open().chunk(markdown("warm", manual("warm")))  # the tokenizer, jieba and all
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(order: dict[str, Any]) -> None:
    """Never returns: what the parent would do at its end is not the child's to do."""
    try:
        os.environ.update(order["environment"])
        options = RunOptions(run_id=order["run_id"])
        report = run_job(load_config(Path(order["config"])), options, Silence())
        os._exit(0 if report["outcome"] == "succeeded" else 1)
    finally:
        os._exit(99)


if __name__ == "__main__":
    main()

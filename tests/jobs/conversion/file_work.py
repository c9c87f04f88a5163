"""Work for the processes of a FilePool; what spawned processes run has to be importable."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path


def double(files: Sequence[int]) -> list[int]:
    """Twice each number, but 13 ends the process."""
    if 13 in files:
        os.kill(os.getpid(), signal.SIGKILL)
    return [2 * file for file in files]


def meet(folders: Sequence[Path]) -> list[int]:
    """Wait until two processes are here."""
    (folders[0] / str(os.getpid())).touch()
    for _ in range(1200):
        if (here := len(list(folders[0].iterdir()))) == 2:
            return [here for _ in folders]
        time.sleep(0.05)
    return [1 for _ in folders]


def raise_fault(files: Sequence[int]) -> list[int]:
    raise ValueError(f"no work on {files[0]}")


def nothing() -> None:
    """No preparation."""

"""Edges of the state machines, where a test can have the process killed.

`KITELIFT_KILL_AT=upserted:2` kills the process that reaches that edge for the second time, `*:17`
at its seventeenth edge of any name; once only, by the file that `KITELIFT_KILL_ONCE` names and that
tells the edge afterwards. Without the first variable an edge costs a look into a dict.
"""

import os
import signal
from pathlib import Path

RUN_EDGES = ("leased", "planned", "created", "swept", "catalogued", "promoted", "reported")
SHARD_EDGES = (
    "claimed",
    "chunked",
    "compared",
    "embedded",
    "staged",
    "intended",
    "upserted",
    "deleted",
    "recorded",
    "committed",
)

_reached: dict[str, int] = {}


def reach(edge: str) -> None:
    """Pass an edge; a no-op but in tests."""
    wanted = os.environ.get("KITELIFT_KILL_AT")
    if not wanted:
        return
    name, _, count = wanted.partition(":")
    if name in {edge, "*"}:
        _reached[name] = _reached.get(name, 0) + 1
        if _reached[name] == int(count or 1) and _is_first(edge):
            os.kill(os.getpid(), signal.SIGKILL)


def _is_first(edge: str) -> bool:
    try:
        with Path(os.environ["KITELIFT_KILL_ONCE"]).open("x", encoding="ascii") as once:
            once.write(edge)
    except FileExistsError:
        return False
    return True

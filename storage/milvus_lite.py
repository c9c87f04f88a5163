"""Milvus Lite for many processes: one server on loopback for as long as a run lasts.

Only one process can open the folder, and workers are many; so the run starts the server, hands its
address to the workers, and stops it.
"""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from storage.errors import SettingError, StoreUnavailableError
from storage.milvus_settings import MilvusSettings

_CHILD = Path(__file__).with_name("lite_server.py")
_LOG = "server.log"
_TUNING = {"MILVUS_LITE_MEMTABLE_MEMORY_LIMIT_BYTES": str(16 * 2**20)}
"""Rows in memory are slow to read and long to write out at the end; its default is 128 MiB."""
_STOP_SECONDS = 30.0
"""To answer what is in flight and write out what is in memory; then it is killed (and loses
nothing: every acknowledged row is in its log)."""


@contextmanager
def reachable(settings: MilvusSettings) -> Iterator[MilvusSettings]:
    """The same settings with the address of a server: a path is served meanwhile.

    Raises:
        SettingError: As serve().
        StoreUnavailableError: As serve().
    """
    if not settings.is_path:
        yield settings
        return
    with serve(settings.uri) as uri:
        yield settings.model_copy(update={"uri": uri})


@contextmanager
def serve(path: str | Path, *, start_seconds: float = 30.0) -> Iterator[str]:
    """Serve a folder of Milvus Lite on loopback, and give the address.

    The server ends with the context, and also by itself within a second of the death of this
    process. Its log is `server.log` in the folder.

    Args:
        path: The folder; made if it is not there.
        start_seconds: How long the server may take to answer.

    Raises:
        SettingError: Another process uses the folder, or it is none.
        StoreUnavailableError: The server did not start.
    """
    folder = Path(path).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        log = (folder / _LOG).open("ab")
    except OSError as error:
        raise SettingError(
            "milvus.uri",
            f"{path} cannot be a folder of Milvus Lite ({error.strerror})",
            "Name a folder that can be written, or a server as http://host:19530.",
        ) from error
    with log, _child(folder, log) as child:
        port = _first_answer(child, folder, start_seconds)
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _child(folder: Path, log: Any) -> Iterator["subprocess.Popen[bytes]"]:
    # -P: the child's own folder, with our modules in it, stays out of its import path.
    # A session of its own: Ctrl-C reaches us, and we stop it once nobody needs it any more.
    child = subprocess.Popen(  # noqa: S603 (our own file, no shell)
        [sys.executable, "-P", str(_CHILD), str(folder), str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env=_TUNING | os.environ,
        start_new_session=True,
    )
    try:
        yield child
    finally:
        for pipe in (child.stdin, child.stdout):
            assert pipe is not None
            pipe.close()  # the end of its input is its sign to stop
        try:
            child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _first_answer(child: "subprocess.Popen[bytes]", folder: Path, seconds: float) -> int:
    assert child.stdout is not None
    readable, _, _ = select.select([child.stdout], [], [], seconds)
    line = child.stdout.readline() if readable else b""
    if not line:
        reason = "it ended at once" if readable else f"no answer within {seconds:g} s"
        raise StoreUnavailableError("Milvus Lite", str(folder), f"{reason}; see {folder / _LOG}")
    answer = json.loads(line)
    if "port" in answer:
        return int(answer["port"])
    if answer["locked"]:
        raise SettingError(
            "milvus.uri",
            f"another kitelift run or process uses {folder}",
            "Wait until it has ended, or use a Milvus server, which many can share.",
        )
    raise StoreUnavailableError("Milvus Lite", str(folder), answer["error"])

"""A Milvus Lite server as a child process: `python -P lite_server.py DATA_DIR PARENT_PID`.

It prints one line of JSON, `{"port": …}` or `{"error": …, "locked": …}`, and then serves until its
standard input ends or its parent is gone. So it never outlives the process that started it, however
that one died, and the data folder is free again. It imports nothing of ours: it starts faster, and
runs by its path from any working directory.
"""

import json
import os
import select
import sys

from milvus_lite.adapter.grpc.server import start_server_in_thread
from milvus_lite.exceptions import DataDirLockedError

_LOOK_AT_PARENT_EVERY = 0.5
"""Seconds. Processes that the parent forked may hold the pipe open after its death."""


def main() -> None:
    data_dir, parent = sys.argv[1], int(sys.argv[2])
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever prints goes to the log
    try:
        server, database, port = start_server_in_thread(data_dir, host="127.0.0.1", port=0)
    except DataDirLockedError as error:
        print(json.dumps({"error": str(error), "locked": True}), file=answer, flush=True)
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 (told to the parent, which raises it)
        reason = f"{type(error).__name__}: {error}"
        print(json.dumps({"error": reason, "locked": False}), file=answer, flush=True)
        sys.exit(1)
    print(json.dumps({"port": port}), file=answer, flush=True)
    while os.getppid() == parent:
        readable, _, _ = select.select([sys.stdin], [], [], _LOOK_AT_PARENT_EVERY)
        if readable and not os.read(sys.stdin.fileno(), 1):
            break
    server.stop(grace=2).wait()
    database.close()
    os._exit(0)  # its thread pools would wait for idle threads


if __name__ == "__main__":
    main()

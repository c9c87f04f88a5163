"""Milvus Lite at an address that outlives its process."""

import subprocess
import sys
from pathlib import Path

from tests.servers.s3 import free_port

_SERVE = """
import sys, time
from milvus_lite.adapter.grpc.server import start_server_in_thread
kept = start_server_in_thread(sys.argv[1], host="127.0.0.1", port=int(sys.argv[2]))
print("up", flush=True)
time.sleep(600)
"""


class Lite:
    """Serves one folder on one port, each time that it is started."""

    def __init__(self, folder: Path) -> None:
        port = str(free_port())
        self._command = [sys.executable, "-c", _SERVE, str(folder), port]
        self.uri = f"http://127.0.0.1:{port}"
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "up\n"

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

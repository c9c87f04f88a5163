"""A proxy before an S3 server that spoils chosen answers, as networks and other servers do."""

import http.client
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    sent: int | None = None
    """Bytes of the body that arrive before the connection breaks; None for all."""
    pause: float = 0.0
    """Seconds between the two halves of the body."""


Fault = Callable[[Callable[[], Answer]], Answer | None]
"""Is given a function that asks the real server; gives what the client gets, None to hang up."""


@dataclass(slots=True, kw_only=True)
class Proxy:
    url: str
    faults: deque[Fault] = field(default_factory=deque)
    """For the next requests, one each; later ones pass."""
    requests: int = 0


def lost(ask: Callable[[], Answer]) -> None:
    """The server does its work, and its answer never arrives."""
    ask()


def cut(ask: Callable[[], Answer]) -> Answer:
    """The connection breaks in the middle of the body."""
    whole = ask()
    return Answer(
        status=whole.status, headers=whole.headers, body=whole.body, sent=len(whole.body) // 2
    )


def slow(ask: Callable[[], Answer]) -> Answer:
    """Half of the body, a pause, and the rest."""
    return replace(ask(), pause=0.3)


def says(answer: Answer) -> Fault:
    """The server is not asked at all."""
    return lambda _: answer


@contextmanager
def run_proxy(endpoint: str) -> Iterator[Proxy]:
    target = urlsplit(endpoint).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_request(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            proxy.requests += 1
            fault = proxy.faults.popleft() if proxy.faults else None
            answer = fault(lambda: self.ask(body)) if fault else self.ask(body)
            if answer is None:
                self.close_connection = True
                return
            self.send_response_only(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                body = answer.body[: answer.sent]
                self.wfile.write(body[: len(body) // 2])
                time.sleep(answer.pause)
                self.wfile.write(body[len(body) // 2 :])
            self.close_connection = answer.sent is not None

        do_GET = do_HEAD = do_PUT = do_DELETE = handle_request  # noqa: N815 -- names of http.server

        def ask(self, body: bytes) -> Answer:
            with closing(http.client.HTTPConnection(target, timeout=10)) as connection:
                connection.request(self.command, self.path, body, dict(self.headers))
                response = connection.getresponse()
                data = response.read()
            kept = {k: v for k, v in response.headers.items() if k.lower() != "connection"}
            kept.setdefault("Content-Length", str(len(data)))
            return Answer(status=response.status, headers=kept, body=data)

        def log_message(self, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy = Proxy(url=f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

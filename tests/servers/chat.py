"""A chat model behind a real socket: strict about requests, with scripted answers and faults."""

import json
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from storage.completion_settings import CompletionSettings

MODEL = "cutter-1"
Answer = Callable[[dict[str, Any]], str]
"""From the user message, as JSON, to the text of the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Instead of an answer; the first condition that is set counts."""

    status: int = 200
    message: str = "scripted"
    param: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    """Sent as it is, with status 200."""
    hang_seconds: float = 0.0
    drop: bool = False


@dataclass(slots=True)
class ChatServer:
    """Answers and faults to come, one for each request; then `answer` for all that follow."""

    base_url: str = ""
    answer: Answer = lambda _: "{}"
    script: list[Answer | Fault] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def settings(self, **changes) -> CompletionSettings:
        fast = {"timeout_seconds": 5, "first_wait_seconds": 0.001, "max_wait_seconds": 0.002}
        return CompletionSettings(**{"model": MODEL, "base_url": self.base_url, **fast, **changes})

    def take(self, request: dict[str, Any], authorization: str | None) -> Answer | Fault:
        with self._lock:
            self.requests.append(request)
            self.authorizations.append(authorization)
            return self.script.pop(0) if self.script else self.answer


def refusal_of(request: dict[str, Any]) -> Fault | None:
    """What the real service would not take."""
    if set(request) - {"model", "messages", "temperature", "response_format"}:
        return Fault(status=400, message=f"Unrecognized request arguments in {sorted(request)}")
    if request["model"] != MODEL:
        return Fault(status=404, message="The model does not exist", param="model")
    if [message["role"] for message in request["messages"]] != ["system", "user"]:
        return Fault(status=400, message="roles", param="messages")
    wants_json = request.get("response_format") == {"type": "json_object"}
    if wants_json and "JSON" not in request["messages"][0]["content"]:
        return Fault(status=400, message="'messages' must contain the word 'json'")
    return None


@contextmanager
def serving_chat():
    """Yields a ChatServer on a free port of this machine."""
    chat = ChatServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            if self.path != "/v1/chat/completions":
                self.reply(404, json.dumps({"error": {"message": "Invalid URL"}}))
                return
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            taken = chat.take(request, self.headers.get("Authorization"))
            fault = refusal_of(request) or (taken if isinstance(taken, Fault) else None)
            if fault is None:
                user = request["messages"][1]["content"]
                told = json.loads(user) if user.startswith("{") else {}
                self.reply(200, completion(taken(told)))
                return
            time.sleep(fault.hang_seconds)
            if fault.drop:
                self.close_connection = True
            elif fault.body is not None:
                self.reply(200, fault.body)
            elif not fault.hang_seconds:
                error = {"message": fault.message, "param": fault.param, "type": "x", "code": None}
                self.reply(fault.status, json.dumps({"error": error}), fault.headers)

        def reply(self, status, body, headers=None):
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    chat.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield chat
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def completion(content: str | None, **message) -> str:
    """The body of an answer, as the API gives it."""
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": MODEL,
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": content, **message},
                }
            ],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        }
    )

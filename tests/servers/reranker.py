"""A reranker behind a real socket, with scripted answers."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from storage.reranker import RerankSettings


@contextmanager
def serving(*answers):
    """Gives the answers one by one, (status, body) each; then scores by length, best first."""
    script, asked = list(answers), []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((body, self.headers.get("Authorization")))
            by_length = [
                {"index": at, "relevance_score": len(text) / 100}
                for at, text in enumerate(body["documents"])
            ]
            by_length.sort(key=lambda result: -result["relevance_score"])
            status, told = script.pop(0) if script else (200, {"results": by_length})
            data = told.encode() if isinstance(told, str) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/v1/rerank"
        yield RerankSettings(url=url, model="m", timeout_seconds=5), asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

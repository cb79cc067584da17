"""A webhook of a few lines: an HTTPS server that answers reviews by a function. No tests here."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from policyd.json_types import JSONObject

Answer = Callable[[str, JSONObject], JSONObject]


@contextmanager
def webhook_server(certificate: Path, key: Path, answer: Answer) -> Iterator[int]:
    """Serve, and yield the port. ``answer`` gets the path and the request of a review, and returns
    fields of the response, in which the request is allowed unless they say otherwise.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request = review["request"]
            given = answer(self.path.partition("?")[0], request)
            response = {"uid": request["uid"], "allowed": True, **given}
            body = json.dumps({**review, "request": None, "response": response}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()

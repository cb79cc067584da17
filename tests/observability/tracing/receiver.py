"""A collector: an OTLP/HTTP server that keeps the spans that it gets, or answers in other ways. No tests here."""

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

Behaviour = Literal["takes", "refuses", "redirects", "hangs", "never ends", "lies", "garbage"]


class Receiver:
    """What arrived; ``behaviour`` may change at any time."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.requests: list[ExportTraceServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        self.connections = 0
        self.released = threading.Event()
        self.url = ""

    @property
    def spans(self) -> list[Span]:
        """All spans, in the order of their arrival."""
        scopes = [
            scope
            for got in self.requests
            for each in got.resource_spans
            for scope in each.scope_spans
        ]
        return [span for scope in scopes for span in scope.spans]

    def resource(self) -> dict[str, Any]:
        """The attributes of the first resource."""
        return values(self.requests[0].resource_spans[0].resource.attributes)

    def named(self, name: str) -> list[Span]:
        """The spans of a name."""
        return [span for span in self.spans if span.name == name]

    def children(self, parent: Span) -> list[Span]:
        """The spans below another."""
        return [span for span in self.spans if span.parent_span_id == parent.span_id]


def values(attributes: Any) -> dict[str, Any]:
    """Attributes as a dict."""
    return {each.key: _value(each.value) for each in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)


@contextmanager
def receiving(behaviour: Behaviour = "takes") -> Iterator[Receiver]:
    """A collector on a free port of this machine."""
    receiver = Receiver(behaviour)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            receiver.connections += 1
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            receiver.headers.append({"path": self.path, **dict(self.headers.items())})
            answers: dict[Behaviour, Callable[[], object]] = {
                "takes": lambda: self._take(body),
                "refuses": lambda: self._answer(400, b"no"),
                "redirects": lambda: self._answer(307, b"", Location="/elsewhere"),
                "hangs": lambda: receiver.released.wait(30),
                "never ends": self._never_end,
                "lies": lambda: self._answer(200, b"x", **{"Content-Length": "1000"}),
                "garbage": self._garbage,
            }
            answers[receiver.behaviour]()

        def _take(self, body: bytes) -> None:
            receiver.requests.append(ExportTraceServiceRequest.FromString(body))
            self._answer(200, ExportTraceServiceResponse().SerializeToString())

        def _answer(self, status: int, body: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _never_end(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                while not receiver.released.is_set():
                    self.wfile.write(b"x" * 65536)
                    time.sleep(0.001)
            except OSError:
                self.close_connection = True

        def _garbage(self) -> None:
            self.wfile.write(b"\x00\xff" * 100)
            self.close_connection = True

        def log_message(self, format: str, *arguments: Any) -> None:
            """Be quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.shutdown()
        server.server_close()
        thread.join()

"""A server that answers as an API server would, over HTTPS on a loopback port. No tests here."""

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from policyd.json_types import JSONObject
from policyd.tls.issuing import self_signed

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
TOKEN = "first"
VERSION = "/version"
# Every server with a cluster looks for webhook configurations; here it may not, and that is no call.
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/"


@dataclass(frozen=True)
class Reply:
    """What is sent back: a body that is no bytes becomes JSON, one that is an iterator of bytes is
    sent part by part; ``after`` seconds.
    """

    body: Any
    status: int = 200
    headers: JSONObject = field(default_factory=dict)
    after: float = 0.0


@dataclass(frozen=True)
class Call:
    """A request that came in."""

    method: str
    path: str
    body: Any
    token: str
    client: tuple[str, int]
    headers: Mapping[str, str] = field(default_factory=dict)


def status(allowed: bool, **more: Any) -> Reply:
    """The answer to a SubjectAccessReview."""
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {}}
    return Reply({**review, "status": {"allowed": allowed, **more}}, 201)


def refusal(code: int, message: str, **headers: str) -> Reply:
    """An error as an API server words it."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return Reply({**body, "message": message}, code, headers)


@dataclass
class ApiServer:
    """The running server; ``answer`` may be exchanged at any time."""

    url: str
    folder: Path
    answer: Callable[[Call], Reply]
    calls: list[Call] = field(default_factory=list)
    tokens: set[str] = field(default_factory=lambda: {TOKEN})
    most_at_once: int = 0
    version: str = "v1.37.1"  # of GET /version, which is no call; "" gives a 404
    hides_webhooks: bool = True

    def reply(self, call: Call) -> Reply:
        """What is answered to who is known."""
        if self.hides_webhooks and call.path.startswith(WEBHOOKS):
            return refusal(403, "forbidden")
        if call.path != VERSION:
            return self.answer(call)
        return Reply({"gitVersion": self.version}) if self.version else refusal(404, "not found")

    def kubeconfig(self, **user: Any) -> Path:
        """A file whose current context is this server."""
        file = self.folder / "kubeconfig"
        named = {"name": "here"}
        cluster = {"server": self.url, "certificate-authority": "ca.crt"}
        document = {
            "clusters": [{**named, "cluster": cluster}],
            "users": [{**named, "user": user or {"token": TOKEN}}],
            "contexts": [{**named, "context": {"cluster": "here", "user": "here"}}],
            "current-context": "here",
        }
        file.write_text(json.dumps(document))
        return file


@contextmanager
def api_server(folder: Path, answer: Callable[[Call], Reply]) -> Iterator[ApiServer]:
    """Listen, hand over, stop."""
    certificate, key = self_signed()
    (folder / "ca.crt").write_bytes(certificate)
    (folder / "ca.key").write_bytes(key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.crt", folder / "ca.key")
    made: list[ApiServer] = []
    lock, under_way = threading.Lock(), [0]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer leaves in one piece, as that of an API server does

        def do_POST(self) -> None:
            self._answer()

        do_GET = do_PUT = do_PATCH = do_DELETE = do_POST

        def log_message(self, *arguments: Any) -> None:
            pass

        def _answer(self) -> None:
            fake = made[0]
            call = _received(self)
            with lock:
                under_way[0] += 1
                fake.most_at_once = max(fake.most_at_once, under_way[0])
                if self.path != VERSION and not self.path.startswith(WEBHOOKS):
                    fake.calls.append(call)
            known = call.token in fake.tokens
            reply = fake.reply(call) if known else refusal(401, "Unauthorized")
            time.sleep(reply.after)
            with lock:
                under_way[0] -= 1
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                if value is not None:
                    self.send_header(name.replace("_", "-"), value)
            if isinstance(reply.body, Iterator):
                _send_parts(self, reply.body)
                return
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *arguments: Any) -> None:
            pass  # a client that went away

    server = Server(("127.0.0.1", 0), Handler)
    # The thread of a connection shakes hands: a client that went away must not hold up the others.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=lambda: server.serve_forever(0.01), daemon=True)
    thread.start()
    made.append(ApiServer(f"https://127.0.0.1:{server.server_port}", folder, answer))
    try:
        yield made[0]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _received(handler: BaseHTTPRequestHandler) -> Call:
    """The request that a handler is called for."""
    sent = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    return Call(
        handler.command,
        handler.path,
        json.loads(sent) if sent else None,
        (handler.headers.get("Authorization") or "").removeprefix("Bearer "),
        handler.client_address,
        dict(handler.headers),
    )


def _send_parts(handler: BaseHTTPRequestHandler, parts: Iterator[bytes]) -> None:
    """Send a body whose length is not known; an error of ``parts`` cuts it off."""
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.flush()
    for part in parts:
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        handler.wfile.flush()
    handler.wfile.write(b"0\r\n\r\n")

"""Ways in which an API server lies, as the bytes that it sends, and a server of them. No tests."""

import json
import re
import socketserver
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Gives the parts of an answer one after the other; ends the connection when it ends.
Lie = Callable[["Liar"], Iterator[bytes]]
MEGABYTE = 2**20


class Liar(socketserver.ThreadingTCPServer):
    """Answers every request by ``lie``; ``stopping`` is set when the test is over."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 200

    def __init__(self, lie: Lie) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lie = lie
        self.stopping = threading.Event()
        self.request = threading.local()  # of the thread that answers: its ``head``
        self.sent = 0
        self.asked = 0

    def kubeconfig(self, folder: Path) -> Path:
        """A file whose current context is this server."""
        # Without TLS nothing is verified, and no client reads all CAs of the system.
        server = {
            "server": f"http://127.0.0.1:{self.server_address[1]}",
            "insecure-skip-tls-verify": True,
        }
        document = {
            "clusters": [{"name": "c", "cluster": server}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        file = folder / "liar.kubeconfig"
        file.write_text(json.dumps(document))
        return file


class _Handler(socketserver.StreamRequestHandler):
    server: Liar

    def handle(self) -> None:
        try:
            while self._request():
                self.server.asked += 1
                for part in self.server.lie(self.server):
                    self.wfile.write(part)
                    self.server.sent += len(part)
                    if self.server.stopping.is_set():
                        return
        except OSError:
            pass  # the client hung up

    def _request(self) -> bool:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return False
            head += line
        self.server.request.head = head
        length = re.search(rb"(?i)content-length: (\d+)", head)
        self.rfile.read(int(length[1]) if length else 0)
        return True


@contextmanager
def lying(lie: Lie) -> Iterator[Liar]:
    """Listen, hand over, stop."""
    liar = Liar(lie)
    thread = threading.Thread(target=lambda: liar.serve_forever(0.01), daemon=True)
    thread.start()
    try:
        yield liar
    finally:
        liar.stopping.set()
        liar.shutdown()
        liar.server_close()
        thread.join()


def whole(body: bytes, status: str = "200 OK", *headers: str, length: int | None = None) -> bytes:
    """One answer with a Content-Length, the true one unless another is given."""
    size = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {size}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode("latin-1") + body


def once(*parts: bytes) -> Lie:
    """The same parts for every request."""
    return lambda _: iter(parts)


def by_path(part: bytes, lie: Lie, other: Lie) -> Lie:
    """``lie`` for requests with this in their first line, ``other`` for the rest."""
    return lambda liar: (lie if part in liar.request.head.split(b"\r\n")[0] else other)(liar)


def hang(liar: Liar) -> Iterator[bytes]:
    """No answer."""
    liar.stopping.wait()
    yield b""


def drip(liar: Liar) -> Iterator[bytes]:
    """A body of which a byte comes now and then, always before a read times out."""
    yield whole(b"", length=100_000)
    while not liar.stopping.wait(0.05):
        yield b" "


def dripping_head(liar: Liar) -> Iterator[bytes]:
    """The same with headers."""
    yield b"HTTP/1.1 200 OK\r\n"
    while not liar.stopping.wait(0.05):
        yield b"A: b\r\n"


def endless(liar: Liar) -> Iterator[bytes]:
    """A body without an end."""
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"100000\r\n" + b"[" * MEGABYTE + b"\r\n"


def endless_1xx(liar: Liar) -> Iterator[bytes]:
    """Informational answers and never a final one."""
    while not liar.stopping.wait(0.001):
        yield b"HTTP/1.1 103 Early Hints\r\n\r\n"


def endless_headers(liar: Liar) -> Iterator[bytes]:
    """A head without an end."""
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        yield b"A: " + b"b" * 60_000 + b"\r\n"


def cut_off(liar: Liar) -> Iterator[bytes]:
    """A body that ends before its length."""
    yield whole(b"{", length=100_000)
    raise OSError


def hang_up(liar: Liar) -> Iterator[bytes]:
    """The end of the connection."""
    yield b""
    raise OSError


def later(seconds: str) -> Lie:
    """Too many requests, with a Retry-After."""
    return once(whole(b"{}", "429 Too Many Requests", f"Retry-After: {seconds}"))


def bomb(liar: Liar) -> Iterator[bytes]:
    """A compressed body without an end: kilobytes become megabytes."""
    yield b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    packer = zlib.compressobj(9, wbits=31)
    while True:
        if part := packer.compress(b" " * MEGABYTE):
            yield b"%x\r\n%b\r\n" % (len(part), part)


def _json(value: Any) -> Lie:
    return once(whole(json.dumps(value).encode()))


_DEEP = b'{"kind": "Namespace", "metadata": {"name": "shop"}, "spec": %s1%s}'

LIES: dict[str, Lie] = {
    "hang": hang,
    "drip": drip,
    "dripping head": dripping_head,
    "endless body": endless,
    "endless 1xx": endless_1xx,
    "endless headers": endless_headers,
    "announced as larger than allowed": once(whole(b"", length=3 * 1024 * MEGABYTE)),
    "cut off": cut_off,
    "longer than its length": once(whole(b'{"kind": "Namespace"}', length=5)),
    "length is no number": once(whole(b"{}").replace(b"Content-Length: 2", b"Content-Length: x")),
    "negative length": once(whole(b"{}", length=-2)),
    "gzip bomb": bomb,
    "deflate": once(whole(b"x", "200 OK", "Content-Encoding: deflate")),
    "redirect": once(whole(b"", "302 Found", "Location: http://127.0.0.1:1/evil")),
    "redirect to itself": once(whole(b"", "307 Temporary Redirect", "Location: /")),
    "429 for ever": later("999999999999"),
    "429 for longer than a float holds": later("9" * 5000),
    "429 until yesterday": later("-5"),
    "429 until a date": later("Fri, 31 Dec 2999 23:59:59 GMT"),
    "429 in digits that are none": later("\xb2"),
    "401": once(whole(b"{}", "401 Unauthorized")),
    "500": once(whole(b'{"kind": "Status", "message": "boom"}', "500 Internal Server Error")),
    "an error with a long message": once(
        whole(json.dumps({"kind": "Status", "message": "x" * MEGABYTE}).encode(), "403 Forbidden")
    ),
    "an error nested too deep": once(whole(b"[" * 200_000, "403 Forbidden")),
    "a status that is none": once(b"HTTP/1.1 99999 X\r\n\r\n"),
    "no HTTP": once(b"SSH-2.0-x\r\n\r\n"),
    "not UTF-8": once(whole(b'{"kind": "Namespace", "metadata": {"name": "\xff"}}')),
    "empty": once(whole(b"")),
    "null": _json(None),
    "list": _json([1, 2]),
    "empty object": _json({}),
    "another kind": _json({"kind": "Pod", "metadata": {"name": "shop"}, "status": {}}),
    "a Status": _json({"kind": "Status", "apiVersion": "v1", "status": "Success"}),
    "another name": _json({"kind": "Namespace", "metadata": {"name": "other"}}),
    "wrong types": _json(
        {"kind": 3, "status": "x", "metadata": "y", "items": "z", "resources": 5, "data": 7}
    ),
    "lone surrogate": once(
        whole(b'{"kind": "Namespace", "metadata": {"name": "shop", "labels": {"a": "\\ud800"}}}')
    ),
    "deep": once(whole(_DEEP % (b'{"a":' * 5_000, b"}" * 5_000))),
    "very deep": once(whole(b"[" * 1_000_000)),
    "hung up": hang_up,
}

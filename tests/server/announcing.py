"""Requests as bytes, whole ones and those that announce more than they send. No tests here."""

import re
import ssl

from tests.builders.reviews import body
from tests.server.process import Process


def head(path: str, size: int) -> bytes:
    """The head of a request with a body of this size."""
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode()


def whole(path: str, content: bytes) -> bytes:
    """The bytes of a request."""
    return head(path, len(content)) + content


def whole_request(path: str = "/validate") -> bytes:
    """The bytes of a review."""
    return whole(path, body())


def announce(server: Process, size: int, sent: bytes = b"") -> ssl.SSLSocket:
    """A request that announces ``size`` bytes and sends no more than ``sent``."""
    sock = server.secure_socket()
    sock.sendall(head("/validate", size) + sent)
    return sock


def status(sock: ssl.SSLSocket) -> bytes:
    """The first line of an answer."""
    return sock.recv(65536).partition(b"\r\n")[0].strip()


def response(sock: ssl.SSLSocket) -> bytes:
    """One whole response, in however many records it comes; nothing if the connection is closed."""
    seen = b""
    while True:
        fields, end, content = seen.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", fields)
        if end and len(content) >= int(length[1] if length else 0):
            return seen
        data = sock.recv(65536)
        if not data:
            assert not seen, f"closed within a response: {seen!r}"
            return seen
        seen += data


def to_its_end(sock: ssl.SSLSocket) -> bool:
    """Read what is left until the server closes the connection."""
    while sock.recv(65536):
        pass
    return True

"""Requests that announce more than they send. No tests here."""

import ssl

from tests.server.process import Process


def announce(server: Process, size: int, sent: bytes = b"") -> ssl.SSLSocket:
    """A request that announces ``size`` bytes and sends no more than ``sent``."""
    sock = server.secure_socket()
    head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
    sock.sendall(head % size + sent)
    return sock


def status(sock: ssl.SSLSocket) -> bytes:
    """The first line of an answer."""
    return sock.recv(65536).partition(b"\r\n")[0].strip()

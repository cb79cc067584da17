"""The client: what counts as an answer, and what kinds of failures there are."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson
import pytest

from policyd.benchmark.client import LoadTarget, RequestFailed
from policyd.benchmark.webhook_requests import WebhookRequest
from policyd.tls.issuing import self_signed
from tests.tls.pki import issue, pem

REQUEST = WebhookRequest.of("here", "validate", {"uid": "u-1"})


def answer(body: object, status: str = "200 OK", head: str = "") -> bytes:
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    return f"HTTP/1.1 {status}\r\n{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


def response(uid: str = "u-1", allowed: object = True) -> bytes:
    return answer({"response": {"uid": uid, "allowed": allowed}})


@contextmanager
def serving_bytes(
    folder: Path, *answers: bytes, pieces: int = 1 << 20, clients: bytes = b""
) -> Iterator[tuple[str, list[bytes]]]:
    """A TLS server that gives these answers on one connection, in pieces, and then closes it.
    ``clients``: it accepts only those of this authority.
    """
    pair = self_signed(["127.0.0.1"])
    (folder / "both.pem").write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.decode())
    received: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        connection, _ = listener.accept()
        with suppress(ssl.SSLError), context.wrap_socket(connection, server_side=True) as secure:
            for each in answers:
                data = b""
                while b"\r\n\r\n" not in data or not data.endswith(b"}"):
                    data += secure.recv(65536)
                received.append(data)
                for start in range(0, len(each), pieces):
                    secure.sendall(each[start : start + pieces])

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}", received
    finally:
        thread.join(300)
        listener.close()


def ask(url: str, times: int = 1, shown: tuple[Path, Path] | None = None) -> list[bool]:
    cert, key = shown or (None, None)
    connection = LoadTarget(url, insecure=True, client_cert=cert, client_key=key).connection()
    try:
        return [connection.ask(REQUEST) for _ in range(times)]
    finally:
        connection.close()


def test_a_connection_is_used_again(tmp_path: Path) -> None:
    answers = (response(), response(allowed=False), response())
    with serving_bytes(tmp_path, *answers, pieces=7) as (url, received):
        assert ask(f"{url}/path/", 3) == [True, False, True]
    head, _, body = received[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /path/validate?timeout=10s HTTP/1.1\r\nHost: 127.0.0.1:")
    assert body == REQUEST.body
    assert f"Content-Length: {len(body)}".encode() in head


FAILURES = {
    "status": (answer(b"shed", "503 Service Unavailable"), "HTTP 503"),
    "no JSON": (answer(b"{"), "not an AdmissionReview"),
    "no response": (answer({}), "not an AdmissionReview"),
    "a list": (answer([]), "not an AdmissionReview"),
    "another uid": (response(uid="u-2"), "the answer to another request"),
    "no boolean": (response(allowed="true"), "the answer to another request"),
    "closed": (b"", "connection closed"),
    "cut short": (response()[:-5], "connection closed"),
    "no HTTP": (b"SSH-2.0-x\r\n\r\n", "not an answer of HTTP/1.1"),
}


@pytest.mark.parametrize(("data", "kind"), FAILURES.values(), ids=FAILURES)
def test_failures_have_kinds(tmp_path: Path, data: bytes, kind: str) -> None:
    with serving_bytes(tmp_path, data) as (url, _), pytest.raises(RequestFailed) as found:
        ask(url)
    assert str(found.value) == kind


def test_a_server_that_does_not_answer_is_a_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policyd.benchmark.client.TIMEOUT", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        pytest.raises(RequestFailed, match=r"^timeout$"),
    ):
        ask(f"https://127.0.0.1:{listener.getsockname()[1]}")


def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    authority = issue("authority")
    shown = issue("client", authority).write(tmp_path)
    with serving_bytes(tmp_path, response(), clients=pem(authority)) as (url, _):
        assert ask(url, shown=shown) == [True]
    with (
        serving_bytes(tmp_path, response(), clients=pem(authority)) as (url, _),
        pytest.raises(RequestFailed, match=r"^(TLS: .*CERTIFICATE_REQUIRED|connection closed)"),
    ):
        ask(url)

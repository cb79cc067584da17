"""Authorities of clients that come and go under a running server, and refused clients."""

import json
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from policyd.tls.issuing import self_signed
from tests.builders.reviews import body
from tests.server.process import Process, fake_server, texts, trusting, until, write_sources
from tests.tls.pki import Issued, issue, pem, put

pytestmark = pytest.mark.usefixtures("http_server")


def client(issued: Issued, folder: Path, version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    context = trusting()
    context.load_cert_chain(*issued.write(folder))
    if version is not None:
        context.maximum_version = version
    return context


def ask(connection: HTTPSConnection) -> int:
    """The status of a review, 0 if the server closes instead of answering."""
    try:
        connection.request("POST", "/validate", body())
        answer = connection.getresponse()
        answer.read()
    except OSError:
        return 0
    return answer.status


def apart(connection: HTTPSConnection) -> int:
    """The same on another thread. Python 3.14 leaves the error of a connection that was reset in
    OpenSSL's queue, which each thread has one of: it then fails another connection that waits.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ask, connection).result()


def once(server: Process, context: ssl.SSLContext) -> int:
    with closing(server.connect(context)) as connection:
        return apart(connection)


def refused(server: Process, reason: str) -> float:
    return server.metric(f'policyd_refused_clients_total{{reason="{reason}"}}')


def is_counted(server: Process, reason: str, count: int) -> bool:
    return refused(server, reason) == count


def has_more_lines(server: Process, count: int) -> bool:
    return len(server.lines("certificate")) > count


def is_closed(connection: HTTPSConnection) -> bool:
    """Whether the server has closed an idle connection."""
    connection.sock.settimeout(0.01)
    try:
        return connection.sock.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.mark.own_server("keeps the connections of clients that are no longer trusted")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_authority_that_was_removed_is_trusted_no_longer(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    old, new = issue("old"), issue("new")
    ca = tmp_path / "ca.crt"
    put(ca, pem(old, new))
    of_old = client(issue("a", old), tmp_path, version)
    of_new = client(issue("b", new), tmp_path, version)
    with (
        fake_server(tmp_path, client_ca=str(ca)) as server,
        closing(server.connect(of_old)) as gone,
        closing(server.connect(of_new)) as kept,
    ):
        assert (ask(gone), ask(kept)) == (200, 200)
        kept_socket = kept.sock
        put(ca, pem(new))
        until(lambda: server.lines("certificate"), "the reload")
        (line,) = server.lines("certificate")
        assert "0 added, 1 removed; closing 1 connections of removed CAs" in line["message"]
        until(partial(is_closed, gone), "the end of the connection")
        assert once(server, of_old) == 0
        session = gone.sock.session if isinstance(gone.sock, ssl.SSLSocket) else None
        assert resumed(server, of_old, session) == 0
        assert ask(kept) == 200 and kept.sock is kept_socket
        assert once(server, of_new) == 200
        assert refused(server, "unknown_authority") >= 1
        put(ca, pem(new, old))
        until(lambda: once(server, of_old) == 200, "the authority to be back")
        assert ask(kept) == 200 and kept.sock is kept_socket


def resumed(server: Process, context: ssl.SSLContext, session: Any) -> int:
    """The status where a former session is offered instead of a certificate."""
    connection = server.connect(context)
    wrap = context.wrap_socket
    try:
        context.wrap_socket = partial(wrap, session=session)  # type: ignore[method-assign]
        return apart(connection)
    finally:
        context.wrap_socket = wrap  # type: ignore[method-assign]
        connection.close()


@pytest.mark.own_server("keeps the connections of clients that are no longer trusted")
def test_a_busy_connection_of_a_removed_authority_is_closed_after_its_answer(
    tmp_path: Path,
) -> None:
    old, new = issue("old"), issue("new")
    ca = tmp_path / "ca.crt"
    put(ca, pem(old))
    context = client(issue("a", old), tmp_path)
    with (
        fake_server(tmp_path, client_ca=str(ca)) as server,
        closing(server.connect(context)) as connection,
    ):
        assert ask(connection) == 200
        data = body()
        connection.putrequest("POST", "/validate")
        connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data[:10])
        until(lambda: server.metric("policyd_in_flight_requests") == 1, "the request")
        put(ca, pem(new))
        until(lambda: server.lines("certificate"), "the reload")
        connection.send(data[10:])
        answer = connection.getresponse()
        assert (answer.status, texts(json.loads(answer.read()))) == (200, ["a"])
        until(partial(is_closed, connection), "the end of the connection")


def test_a_broken_authority_changes_nothing_and_a_new_certificate_is_used_all_the_same(
    tmp_path: Path,
) -> None:
    authority = issue("authority")
    ca = tmp_path / "ca.crt"
    put(ca, pem(authority))
    first, second = self_signed(), self_signed()
    put(tmp_path / "tls.crt", first[0])
    put(tmp_path / "tls.key", first[1])
    context = client(issue("a", authority), tmp_path)
    der = authority.certificate.public_bytes(serialization.Encoding.DER)
    trusted = pem(authority).replace(b" CERTIFICATE", b" TRUSTED CERTIFICATE")
    files = {"tls_cert": str(tmp_path / "tls.crt"), "tls_key": str(tmp_path / "tls.key")}
    with fake_server(tmp_path, client_ca=str(ca), **files) as server:
        for broken, found in (
            (der, "got DER"),
            (b"", "got an empty file"),
            (trusted, "TRUSTED CERTIFICATE"),
            (pem(authority)[:300], "not a certificate authority"),
        ):
            before = len(server.lines("certificate"))
            put(ca, broken)
            until(partial(has_more_lines, server, before), found)
            assert found in server.lines("certificate")[-1]["message"]
            assert once(server, context) == 200
            assert once(server, trusting()) == 0
        put(tmp_path / "tls.key", second[1])
        put(tmp_path / "tls.crt", second[0])
        want = ssl.PEM_cert_to_DER_cert(second[0].decode())
        until(lambda: shown(server, context) == want, "the new certificate")
        put(ca, pem(issue("other")))
        until(lambda: once(server, context) == 0, "the other authority")
        assert server.metric('policyd_watch_healthy{watch="certificates"}') == 1


def shown(server: Process, context: ssl.SSLContext) -> bytes:
    with closing(server.connect(context)) as connection:
        connection.connect()
        assert isinstance(connection.sock, ssl.SSLSocket)
        return connection.sock.getpeercert(binary_form=True) or b""


def test_no_disk_is_needed_for_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = self_signed(), self_signed()
    put(tmp_path / "tls.crt", first[0])
    put(tmp_path / "tls.key", first[1])
    monkeypatch.setenv("TMPDIR", "/nowhere")
    files = {"tls_cert": str(tmp_path / "tls.crt"), "tls_key": str(tmp_path / "tls.key")}
    with fake_server(tmp_path, **files) as server:
        put(tmp_path / "tls.key", second[1])
        put(tmp_path / "tls.crt", second[0])
        want = ssl.PEM_cert_to_DER_cert(second[0].decode())
        until(lambda: shown(server, trusting()) == want, "the new certificate")


def test_refused_clients_are_counted_by_reason_and_logged_once(tmp_path: Path) -> None:
    authority = issue("authority")
    ca = tmp_path / "ca.crt"
    put(ca, pem(authority))
    strict = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody
    strict.check_hostname = False
    strict.load_cert_chain(*issue("kube-apiserver", authority).write(tmp_path))
    cases: list[tuple[str, ssl.SSLContext]] = [
        ("no_certificate", trusting()),
        ("expired", client(issue("kube-apiserver", authority, days=-1), tmp_path)),
        ("unknown_authority", client(issue("kube-apiserver", issue("x")), tmp_path)),
        ("name", client(issue("somebody", authority), tmp_path)),
        ("server_certificate", strict),
    ]
    names = {"client_ca": str(ca), "client_name": "kube-apiserver"}
    with fake_server(tmp_path, **names) as server:
        for reason, context in cases:
            for count in (1, 2, 3):
                assert once(server, context) == 0
                until(partial(is_counted, server, reason, count), reason)
        assert server.metric('policyd_refused_clients_total{reason="protocol"}') == 0
        with socket.create_connection(("127.0.0.1", server.port), timeout=300) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert b"200" not in sock.recv(100)
        until(partial(is_counted, server, "protocol", 1), "protocol")
        until(lambda: len(server.lines("refused")) >= len(cases), "a line for each")
        logged = [line["reason"] for line in server.lines("refused")]
        assert logged == [reason for reason, _ in cases]


def test_the_log_tells_of_a_certificate_that_ends(tmp_path: Path) -> None:
    certificates = {"soon": issue("localhost", days=0.0001), "expired": issue("localhost", days=-1)}
    for name, issued in certificates.items():
        folder = tmp_path / name
        folder.mkdir()
        cert, key = issued.write(folder)
        sources = write_sources(folder / "sources", a="allow a")
        with fake_server(folder, sources, tls_cert=str(cert), tls_key=str(key)) as server:
            (line,) = until(partial(server.lines, "certificate"), "a warning")
            word = "expires at" if name == "soon" else "expired at"
            assert word in line["message"]
            assert server.post("/validate", body())[0] == 200


@pytest.mark.own_server("keeps the connections of clients that are no longer trusted")
def test_handshakes_while_authorities_change_let_nobody_in_who_is_gone(tmp_path: Path) -> None:
    old, new = issue("old"), issue("new")
    ca = tmp_path / "ca.crt"
    put(ca, pem(old))
    context = client(issue("a", old), tmp_path)
    with fake_server(tmp_path, client_ca=str(ca)) as server:
        stop = threading.Event()
        kept: list[HTTPSConnection] = []

        def connect() -> None:
            while not stop.is_set():
                connection = server.connect(context)
                if ask(connection) == 200:
                    kept.append(connection)
                else:
                    connection.close()

        threads = [threading.Thread(target=connect) for _ in range(3)]
        for thread in threads:
            thread.start()
        until(lambda: len(kept) > 20, "connections")
        put(ca, pem(new))
        until(lambda: server.lines("certificate"), "the reload")
        until(lambda: refused(server, "unknown_authority") > 5, "refusals")
        stop.set()
        for thread in threads:
            thread.join()
        for connection in kept:
            until(partial(is_closed, connection), "the end of the connection")
            connection.close()

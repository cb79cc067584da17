"""TLS and connections as an API server finds them."""

import socket
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from policyd.config import Settings
from policyd.errors import ConfigError
from policyd.tls.certificates import Certificates
from policyd.tls.handshakes import Context, has_name
from policyd.tls.issuing import self_signed
from policyd.tls.pem import validity
from tests.builders.reviews import body
from tests.server.announcing import response, whole_request
from tests.server.process import Process, fake_server, trusting, until
from tests.tls.pki import issue


def status_with(server: Process, context: ssl.SSLContext) -> int:
    """The status of a review, 0 if the server closes instead of answering."""
    connection = server.connect(context)
    try:
        connection.request("POST", "/validate", body())
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


@pytest.mark.usefixtures("http_server")
def test_only_clients_of_the_authority_and_name_are_answered(tmp_path: Path) -> None:
    authority, stranger = issue("authority"), issue("authority")
    settings = {"client_ca": str(authority.write(tmp_path)[0]), "client_name": "kube-apiserver"}
    with fake_server(tmp_path, **settings) as server:
        for name, signer, status in (
            ("kube-apiserver", authority, 200),
            ("somebody", authority, 0),
            ("kube-apiserver", stranger, 0),
        ):
            context = trusting()
            context.load_cert_chain(*issue(name, signer).write(tmp_path))
            assert status_with(server, context) == status
        assert status_with(server, trusting()) == 0


def test_names_are_common_names_and_dns_names() -> None:
    certificate = {
        "subject": ((("organizationName", "x"),), (("commonName", "ann"),)),
        "subjectAltName": (("DNS", "ann.example"), ("IP Address", "1.2.3.4")),
    }
    assert has_name(certificate, ("bob", "ann"))
    assert has_name(certificate, ("ann.example",))
    assert not has_name(certificate, ("x", "1.2.3.4"))
    assert not has_name(None, ("ann",))


@pytest.mark.parametrize(
    ("trusted", "names", "want"),
    [
        (True, ("kube-apiserver",), None),
        (True, ("somebody",), "name"),
        (False, (), "unknown_authority"),
    ],
)
def test_valid_certificate_that_is_not_accepted_is_reported(
    tmp_path: Path, trusted: bool, names: tuple[str, ...], want: str | None
) -> None:
    """The handshakes of both sides, in memory."""
    authority, reported = issue("authority"), []
    context = Context(
        False, lambda _: trusted, lambda reason, message: reported.append((reason, message)), names
    )
    context.load_cert_chain(*issue("localhost").write(tmp_path))
    context.require_clients([authority.certificate.public_bytes(serialization.Encoding.DER)])
    client = trusting()
    client.load_cert_chain(*issue("kube-apiserver", authority).write(tmp_path))
    here, there = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [context.wrap_bio(here, there, server_side=True), client.wrap_bio(there, here)]
    failed = []
    for side in [*reversed(sides), *sides, *sides]:
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            failed.append(error)
            break
    assert [reason for reason, _ in reported] == ([] if want is None else [want])
    assert bool(failed) is (want is not None)


@pytest.mark.usefixtures("http_server")
def test_self_signed_certificate_is_trusted_by_itself(tmp_path: Path) -> None:
    cert, key = self_signed()
    (tmp_path / "c").write_bytes(cert)
    (tmp_path / "k").write_bytes(key)
    files = {"tls_cert": str(tmp_path / "c"), "tls_key": str(tmp_path / "k")}
    with fake_server(tmp_path, **files) as server:
        context = ssl.create_default_context(cadata=cert.decode())
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        for name in ("localhost", "127.0.0.1", "::1", socket.gethostname()):
            raw = socket.create_connection(("127.0.0.1", server.port), timeout=300)
            with context.wrap_socket(raw, server_hostname=name) as sock:
                assert sock.version() == "TLSv1.3"


@pytest.mark.usefixtures("http_server")
def test_idle_connection_is_closed_after_keep_alive_and_a_used_one_is_not(tmp_path: Path) -> None:
    with (
        fake_server(tmp_path, keep_alive="300ms") as server,
        server.secure_socket() as idle,
        server.secure_socket() as used,
    ):
        idle.settimeout(0.05)

        def closed() -> bool:
            used.sendall(whole_request())
            assert response(used).startswith(b"HTTP/1.1 200")
            try:
                return idle.recv(1) == b""
            except TimeoutError:
                return False

        until(closed, "the end of the idle connection")


def test_many_requests_share_a_connection_and_each_answer_is_one_record(tmp_path: Path) -> None:
    with fake_server(tmp_path) as server, server.secure_socket() as sock:
        for _ in range(1500):  # Hypercorn's own limit is 1,000 a connection
            sock.sendall(whole_request())
            answer = sock.recv(65536)  # one call gives at most one TLS record
            head, _, content = answer.partition(b"\r\n\r\n")
            assert f"content-length: {len(content)}".encode() in head
        assert b"date:" not in head and b"server:" not in head


BAD_FILES = [
    ({}, "certificate .*/tls.crt: No such file or directory"),
    ({"tls.crt": b"x", "tls.key": b"y"}, "not a usable pair"),
    ({"tls.crt": self_signed()[0], "tls.key": self_signed()[1]}, "not a usable pair"),
]


@pytest.mark.parametrize(("files", "message"), BAD_FILES)
def test_unusable_certificate_is_an_error_of_the_operator(
    tmp_path: Path, files: dict[str, bytes], message: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    settings = Settings(tls_cert=tmp_path / "tls.crt", tls_key=tmp_path / "tls.key")
    with pytest.raises(ConfigError, match=message):
        Certificates(settings)


@pytest.mark.parametrize("days", [1, 400, 40_000])  # from 2050 on, dates are written otherwise
def test_end_of_a_certificate_is_read_from_the_first_of_a_chain(days: int) -> None:
    first, other = issue("leaf", days=days).certificate, issue("authority").certificate
    pem = serialization.Encoding.PEM
    chain = b"Bag Attributes\n" + first.public_bytes(pem) + other.public_bytes(pem)
    assert validity(chain)[1] == first.not_valid_after_utc.timestamp()


def test_a_server_needs_a_certificate() -> None:
    with pytest.raises(ConfigError, match="a certificate is needed"):
        Certificates(Settings())

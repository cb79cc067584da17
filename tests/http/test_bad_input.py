"""What a client may do wrong, over a real TLS socket: a clear error, and the server goes on."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.builders.reviews import body, review
from tests.server.process import Process, fake_server, until, write_sources

LIMIT = 1_000_000


@pytest.fixture(scope="module")
def server(http_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("bad")
    sources = write_sources(folder / "sources", a="allow a")
    with fake_server(folder, sources, max_body_bytes=str(LIMIT), timeout="1s") as process:
        yield process


def deep(levels: int) -> bytes:
    inner = b'{"a":' * levels + b"1" + b"}" * levels
    return orjson.dumps(review(object={"mark": 1})).replace(b'{"mark":1}', inner)


def other(**changes: Any) -> bytes:
    return orjson.dumps({**review(), **changes})


BAD: list[tuple[str, bytes, dict[str, str], int, str]] = [
    ("not JSON", b"apiVersion: v1", {}, 400, "not JSON"),
    ("empty", b"", {}, 400, "the body is empty"),
    ("truncated", body()[:100], {}, 400, "truncated JSON"),
    ("NaN", b'{"a": NaN}', {}, 400, "NaN and Infinity are not JSON numbers"),
    ("no end after 2,000 levels", deep(2000)[:-10], {}, 400, "not JSON"),
    ("20 MB", b"[" + b" " * 20_000_000 + b"]", {}, 413, f"larger than {LIMIT} bytes"),
    ("other kind", other(kind="Review"), {}, 400, "kind is 'Review'"),
    ("v1beta1", other(apiVersion="admission.k8s.io/v1beta1"), {}, 400, "admission.k8s.io/v1beta1"),
    ("no uid", body(uid=None), {}, 400, "request.uid is missing"),
    ("object is a text", body(object="x"), {}, 400, "request.object must be an object"),
    ("unknown operation", body(operation="PATCH"), {}, 400, "request.operation must be CREATE"),
    ("not UTF-8", body().replace(b'"ann"', b"\xff\xfe"), {}, 400, "not UTF-8"),
    ("gzip", body(), {"Content-Encoding": "gzip"}, 415, "without Content-Encoding"),
]


@pytest.mark.parametrize(
    ("sent", "headers", "status", "reason"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_bad_request_gets_a_json_error(
    server: Process, sent: bytes, headers: dict[str, str], status: int, reason: str
) -> None:
    counted = server.metric(BAD_REQUESTS) if server.get("/metrics")[1].count(BAD_REQUESTS) else 0
    got, answer = server.post("/validate?timeout=10s", sent, **headers)
    assert (got, list(answer)) == (status, ["error"])
    assert reason in answer["error"]
    # On a busy machine the page may be an older one.
    until(lambda: server.metric(BAD_REQUESTS) > counted, "the request is counted")


UNREADABLE = [
    ("2,000 levels", deep(2000), "nested deeper than 1000 levels"),
    ("half of a pair", body(object={"a": "HALF"}).replace(b"HALF", rb"\ud800"), "surrogate pair"),
    ("not UTF-8", body().replace(b"ann", b"\xff\xfe"), "not UTF-8"),
]


@pytest.mark.parametrize(
    ("sent", "reason"), [row[1:] for row in UNREADABLE], ids=[row[0] for row in UNREADABLE]
)
def test_what_cannot_be_evaluated_is_answered_with_200(
    server: Process, sent: bytes, reason: str
) -> None:
    """Whoever judges it gets the reason, on every path; what policies make of it is tested there."""
    for path in ("/validate", "/mutate", "/validate/fail", "/validate/policy/a"):
        got, answer = server.post(f"{path}?timeout=10s", sent)
        assert (got, list(answer)) == (200, ["apiVersion", "kind", "response"]), reason


BAD_REQUESTS = (
    'policyd_admission_requests_total{operation="",result="bad_request",webhook="validate"}'
)


def test_connection_survives_a_bad_request(server: Process) -> None:
    connection = server.connect()
    for sent, status in ((b"{", 400), (body(), 200), (b"x", 400), (body(), 200)):
        connection.request("POST", "/validate", sent)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
    connection.close()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 404),
        ("/validate/", 404),
        ("/validate/other", 404),
        ("/validate/policy/", 404),
        ("/validate/policy/unknown", 404),
        ("/validate/policy/a", 200),
        ("/mutate/policy/a", 200),
        ("/mutate/fail", 200),
        ("/metrics", 404),
        ("/livez", 404),
        ("/policies", 404),
        ("/validate?timeout=1s", 200),
        ("/validate?timeout=1m0.5s&x=y", 200),
        ("/validate?timeout=soon", 400),
        ("/validate?timeout=0s", 400),
        ("/validate?timeout=-1s", 400),
    ],
)
def test_paths_of_the_tls_port(server: Process, path: str, status: int) -> None:
    got, answer = server.post(path, body())
    assert got == status
    assert ("error" in answer) == (status != 200)


def test_other_methods_are_405(server: Process) -> None:
    connection = server.connect()
    for method in ("GET", "PUT", "DELETE"):
        connection.request(method, "/validate")
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
        assert orjson.loads(answer.read()) == {"error": "expected a POST request"}
    connection.close()


def test_any_content_type_is_fine(server: Process) -> None:
    for content_type in ("application/json", "text/plain", "application/vnd.kubernetes.protobuf"):
        assert server.post("/validate", body(), **{"Content-Type": content_type})[0] == 200


def test_chunked_body_is_read_and_bounded(server: Process) -> None:
    with server.secure_socket() as sock:
        sock.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        whole = body()
        for piece in (whole[:10], whole[10:]):
            sock.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        sock.sendall(b"0\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")
    with server.secure_socket() as sock:
        sock.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b" " * 60_000
        for _ in range(LIMIT // len(piece) + 1):
            sock.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        assert sock.recv(65536).startswith(b"HTTP/1.1 413")


def test_body_that_stops_coming_is_408(server: Process) -> None:
    with server.secure_socket() as sock:
        sock.sendall(
            b"POST /validate?timeout=200ms HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
        )
        answer = b""
        while chunk := sock.recv(65536):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in answer and b"did not arrive in time" in answer
    until(lambda: server.metric("policyd_in_flight_bytes") == 0, "room for other requests")


def test_client_that_leaves_mid_body_does_no_harm(server: Process) -> None:
    for _ in range(5):
        sock = server.secure_socket()
        sock.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        until(lambda: server.metric("policyd_in_flight_requests") == 1, "the request")
        sock.close()
        until(lambda: server.metric("policyd_in_flight_requests") == 0, "its end")
    assert server.post("/validate", body())[0] == 200


def test_plain_http_on_the_tls_port_does_no_harm(server: Process) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as sock:
        sock.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        with suppress(ConnectionResetError):
            assert not sock.recv(65536).startswith(b"HTTP/1.1 200")
    assert server.post("/validate", body())[0] == 200


def test_not_http_at_all_does_no_harm(server: Process) -> None:
    with server.secure_socket() as sock:
        sock.sendall(b"\x00\x01\x02 nonsense\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 400")
    assert server.post("/validate", body())[0] == 200


def test_old_tls_is_refused(server: Process) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    connection = server.connect(context)
    connection.request("POST", "/validate", body())
    assert connection.getresponse().status == 200
    connection.close()
    with pytest.warns(DeprecationWarning):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    connection = server.connect(context)
    with pytest.raises((ssl.SSLError, OSError)):
        connection.request("POST", "/validate", body())


def test_the_log_has_no_defect(server: Process) -> None:
    """Last in this file: none of the above was more than a client's mistake."""
    assert [line for line in server.lines() if line["event"] in ("defect", "log")] == []


def test_reviews_are_not_served_on_the_plain_port(server: Process) -> None:
    status, answer = server.get("/validate")
    assert status == 404
    assert answer.startswith('{"error":"nothing is served here; this port serves /livez, ')


def test_log_is_not_mixed_with_anything_else(server: Process, tmp_path: Path) -> None:
    # "refused": the client of an old TLS, above; "rejected": all the others.
    events = {line["event"] for line in server.lines()}
    assert {"reload", "listening"} <= events <= {"reload", "listening", "refused", "rejected"}

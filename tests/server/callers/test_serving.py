"""``policyd serve --require-api-server-token``: reviews over TLS, on both servers, with keys of a file."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.builders.reviews import body
from tests.server.process import Process, until
from tests.server.serve import DENY, serving, write_policy
from tests.tls.pki import put
from tests.tokens.issuing import AUDIENCE, ISSUER, SigningKey, key_set, private, token

FIRST, SECOND = SigningKey(), SigningKey("second", "RS256")
REQUIRED = ("--require-api-server-token", f"--token-issuer={ISSUER}", "--namespace=policyd")


def publish(folder: Path, *keys: SigningKey) -> str:
    """Write the file of keys; its flag."""
    put(folder / "keys.json", key_set(*(each.published() for each in keys)))
    return f"--token-keys={folder / 'keys.json'}"


@pytest.fixture
def server(http_server: str, tmp_path: Path) -> Iterator[Process]:
    policies = tmp_path / "policies"
    write_policy(policies, "deny", DENY)
    with serving(tmp_path, policies, *REQUIRED, publish(tmp_path, FIRST)) as process:
        yield process


def refusals(server: Process) -> dict[str, float]:
    """The causes of refusals, each with its number if it is not zero."""
    prefix = "policyd_unauthenticated_requests_total{"
    lines = [line for line in server.get("/metrics")[1].splitlines() if line.startswith(prefix)]
    assert lines, "every series exists from the start"
    counts = {line.split('"')[1]: float(line.rpartition(" ")[2]) for line in lines}
    return {cause: count for cause, count in counts.items() if count}


def bearer(given: bytes) -> dict[str, str]:
    return {"Authorization": f"Bearer {given.decode()}"}


def test_reviews_with_a_token_are_answered(server: Process) -> None:
    for path in ("/validate", "/validate/fail", "/validate/policy/deny"):
        for _ in range(2):  # the second time the token is known
            status, answer = server.post(path, body(), **bearer(token(path=path)))
            assert (status, answer["response"]["allowed"]) == (200, True)
    status, answer = server.post(
        "/mutate?timeout=5s", body(), **bearer(token(webhook="mutate", path="/mutate"))
    )
    assert (status, answer["response"]["allowed"]) == (200, True)
    large = body(object={"kind": "ConfigMap", "data": {"a": "x" * 500_000}})
    assert server.post("/validate", large, **bearer(token()))[0] == 200
    assert refusals(server) == {}


EXPECTED = "expected one Authorization header"
REFUSED: list[tuple[str, dict[str, str], str]] = [
    ("missing", {}, EXPECTED),
    ("malformed", {"Authorization": "Basic YTpi"}, "expected Authorization: Bearer TOKEN"),
    ("malformed", {"Authorization": "Bearer"}, "expected a JSON Web Token"),
    ("malformed", {"Authorization": "Bearer x.y.z"}, "expected a JSON Web Token"),
    ("malformed", {"Authorization": f"Bearer {'x' * 9000}"}, "longer than 8192 bytes"),
    ("expired", bearer(token(exp=1)), "has expired"),
    ("signature", bearer(token(SigningKey("first", number=1))), "signature"),
    ("audience", bearer(token(path="/mutate")), f"expected a token for {AUDIENCE}/validate"),
    ("configuration", bearer(token(webhook="mutate")), "validatingwebhookconfiguration policyd"),
]


def test_reviews_without_one_are_refused_counted_and_logged(server: Process) -> None:
    counts = Counter[str]()
    for cause, headers, reason in REFUSED:
        status, answer = server.post("/validate", body(), **headers)
        assert (status, reason in answer["error"]) == (401, True), answer
        counts[cause] += 1
        assert refusals(server) == counts
        given = headers.get("Authorization", "").partition(" ")[2]
        assert len(given) < 100 or given not in json.dumps(answer)
    # One client and one status: one line a minute.
    (line,) = until(lambda: server.lines("rejected"), "the line")
    assert (line["status"], line["message"].startswith(EXPECTED)) == (401, True)
    series = "policyd_admission_requests_total"
    labels = '{operation="",result="bad_request",webhook="validate"}'
    assert server.metric(series + labels) == len(REFUSED)


def test_the_client_is_told_what_is_missing(server: Process) -> None:
    connection = server.connect()
    connection.request("POST", "/validate", body())
    answer = connection.getresponse()
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="policyd"'
    answer.read()
    connection.request("POST", "/validate", body(), bearer(token()))
    assert connection.getresponse().status == 200, "the connection is still good"
    connection.close()


def exchanged(server: Process, head: bytes) -> bytes:
    """What comes back for a head; the body never follows."""
    with server.secure_socket() as sock:
        sock.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n")
        return sock.recv(65536)


def test_the_body_is_not_waited_for(server: Process) -> None:
    assert b" 401 " in exchanged(server, b"Content-Length: 1000\r\n")
    assert b" 401 " in exchanged(server, b"Content-Length: 99000000\r\n"), "before its size"
    assert b" 401 " in exchanged(server, b"Transfer-Encoding: chunked\r\n")
    assert b" 401 " in exchanged(server, b"Content-Length: 1000\r\nContent-Encoding: gzip\r\n")
    assert server.metric("policyd_in_flight_bytes") == 0
    assert refusals(server) == {"missing": 4}


def test_two_headers_are_one_too_many(server: Process) -> None:
    line = b"Authorization: Bearer " + token() + b"\r\n"
    other = b"Authorization: Bearer x\r\n"
    for head in (line + line, line + other, other + line, line + b"authorization:\r\n"):
        assert b" 401 " in exchanged(server, head + b"Content-Length: 10\r\n")
    joined = line.rstrip() + b", Bearer " + token() + b"\r\n"
    assert b" 401 " in exchanged(server, joined + b"Content-Length: 10\r\n")
    assert refusals(server) == {"malformed": 5}


def test_other_methods_and_the_admin_port(server: Process) -> None:
    connection = server.connect()
    connection.request("GET", "/validate")
    assert connection.getresponse().status == 401
    connection.close()
    assert server.post("/nothing", body())[0] == 404
    for path in ("/livez", "/readyz", "/metrics", "/policies"):
        assert server.get(path)[0] == 200, path


DEPLOYMENT: dict[str, Any] = {
    "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
    "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
}
OF_APPS = {"kubernetes.io": private(attestations={"admissionReviewAPIGroups": ["apps"]})}


def test_a_token_for_one_group_is_for_reviews_of_that_group(server: Process) -> None:
    headers = bearer(token(**OF_APPS))
    assert server.post("/validate", body(**DEPLOYMENT), **headers)[0] == 200
    other = {"group": "extensions", "version": "v1beta1", "resource": "deployments"}
    for fields in ({}, {**DEPLOYMENT, "requestResource": other}):
        status, answer = server.post("/validate", body(**fields), **headers)
        assert status == 403
        assert "the token is for the API group 'apps', the review of" in answer["error"]
    assert refusals(server) == {"group": 2}


def test_keys_are_rotated(server: Process, tmp_path: Path) -> None:
    """The first request with a new key is answered: it waits until the keys are read again."""
    publish(tmp_path, FIRST, SECOND)
    assert server.post("/validate", body(), **bearer(token(SECOND)))[0] == 200
    assert server.post("/validate", body(), **bearer(token(FIRST)))[0] == 200
    publish(tmp_path, SECOND)
    until(
        lambda: server.post("/validate", body(), **bearer(token(FIRST)))[0] == 401,
        "the end of the first key",
    )
    assert refusals(server).keys() == {"unknown_key"}
    used = [line["keys"] for line in server.lines("token-keys")]
    assert used == [["first"], ["first", "second"], ["second"]]


def test_broken_keys_leave_the_former_ones(server: Process, tmp_path: Path) -> None:
    put(tmp_path / "keys.json", b"{")
    failing = 'policyd_watch_healthy{watch="token-keys"}'
    until(lambda: server.metric(failing) == 0, "the failure")
    assert server.post("/validate", body(), **bearer(token()))[0] == 200
    assert server.get("/readyz")[0] == 200
    (line,) = [each for each in server.lines("token-keys") if each["level"] == "error"]
    assert "keys.json: the key set is not JSON; the previous ones stay in use" in line["message"]
    publish(tmp_path, FIRST)
    until(lambda: server.metric(failing) == 1, "the recovery")


def test_a_flood_of_unknown_keys_delays_nobody(server: Process) -> None:
    """Requests that wait for keys take no place of others, and end."""
    unknown = token(SigningKey("unknown"))
    head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nAuthorization: Bearer "
    with ExitStack() as stack:
        sockets = [stack.enter_context(server.secure_socket()) for _ in range(100)]
        for each in sockets:
            each.sendall(head + unknown + b"\r\n\r\n{}")
        for _ in range(20):
            assert server.post("/validate", body(), **bearer(token()))[0] == 200
        for each in sockets:
            assert b" 401 " in each.recv(65536)
    assert refusals(server) == {"unknown_key": 100}

"""Keys that an API server publishes: what is read of it, its lies, and an endpoint that hangs."""

import asyncio
import json
import socket
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from policyd.cluster.kubeconfig import configuration
from policyd.cluster.objects import ObjectClient
from policyd.server.callers.published_keys import DISCOVERY, KEYS, PublishedKeys
from policyd.tokens.issuer_keys import KeySet
from tests.builders.reviews import body
from tests.cluster.fake import ApiServer, Call, Reply, api_server, refusal
from tests.e2e.cluster import free_ports
from tests.server.process import Process, until
from tests.server.serve import DENY, serving, write_policy
from tests.tokens.issuing import ISSUER, SigningKey, key_set, token

FIRST, SECOND = SigningKey(), SigningKey("second")
DOCUMENT = {"issuer": ISSUER, "jwks_uri": "https://127.0.0.1:1/elsewhere"}
JWKS = {"Content-Type": "application/jwk-set+json"}


def published(*keys: SigningKey, **document: Any) -> Callable[[Call], Reply]:
    """What an API server answers; it gives keys only to those who accept their type."""

    def answer(call: Call) -> Reply:
        if call.path == f"/{DISCOVERY}":
            return Reply({**DOCUMENT, **document})
        if call.path == f"/{KEYS}" and "jwk-set+json" in call.headers["Accept"]:
            return Reply(key_set(*(each.published() for each in keys)), headers=JWKS)
        return refusal(404, "not found")

    return answer


def read(server: ApiServer, issuer: str = "") -> tuple[str, KeySet]:
    async def once() -> tuple[str, KeySet]:
        client = ObjectClient(configuration(server.kubeconfig()), 5.0)
        try:
            return await PublishedKeys(client, issuer).read()
        finally:
            await client.close()

    return asyncio.run(once())


def test_issuer_and_keys_are_read_from_the_api_server_alone(tmp_path: Path) -> None:
    with api_server(tmp_path, published(FIRST, SECOND)) as server:
        issuer, keys = read(server)
        assert (issuer, set(keys)) == (ISSUER, {"first", "second"})
        assert [call.path for call in server.calls] == [f"/{DISCOVERY}", f"/{KEYS}"]
        assert read(server, "https://given.example")[0] == "https://given.example"
        assert [call.path for call in server.calls[2:]] == [f"/{KEYS}"]


LIES: list[tuple[str, dict[str, Any], str]] = [
    (DISCOVERY, {"body": b"<html>"}, "not JSON"),
    (DISCOVERY, {"body": []}, "not a JSON object"),
    (DISCOVERY, {"body": {}}, "names no issuer"),
    (DISCOVERY, {"body": {"issuer": [ISSUER]}}, "names no issuer"),
    (DISCOVERY, {"body": {}, "status": 403}, "403"),
    (KEYS, {"body": b"<html>"}, "the key set is not JSON"),
    (KEYS, {"body": {"keys": []}}, "no key to verify"),
    (KEYS, {"body": b"x" * 70_000}, "larger than 64 KiB"),
    (KEYS, {"body": b"x" * 9_000_000}, "larger than"),
    (KEYS, {"body": iter([b"x" * 1_000_000] * 20)}, "larger than"),
    (KEYS, {"body": {}, "status": 404}, "404"),
    (KEYS, {"body": b"", "status": 302, "headers": {"Location": "https://127.0.0.1:1/"}}, "302"),
    (KEYS, {"body": b"{}", "headers": {"Content-Encoding": "gzip"}}, "Content-Encoding"),
]


@pytest.mark.parametrize(("path", "reply", "problem"), LIES)
def test_lies_are_no_keys(tmp_path: Path, path: str, reply: dict[str, Any], problem: str) -> None:
    honest = published(FIRST)

    def answer(call: Call) -> Reply:
        return Reply(**reply) if call.path == f"/{path}" else honest(call)

    with api_server(tmp_path, answer) as server, pytest.raises(ValueError, match=problem):
        read(server)


def required(folder: Path, server: ApiServer) -> tuple[Path, list[str]]:
    policies = folder / "policies"
    write_policy(policies, "deny", DENY)
    flags = [f"--kubeconfig={server.kubeconfig()}", "--namespace=policyd"]
    return policies, [*flags, "--require-api-server-token", "--kubernetes-version=1.37"]


def posted(server: Process, key: SigningKey, path: str = "/validate") -> int:
    return server.post(path, body(), Authorization=f"Bearer {token(key).decode()}")[0]


def test_until_there_are_keys_it_neither_listens_nor_is_ready(tmp_path: Path) -> None:
    honest = published(FIRST)
    reviews, admin = free_ports(2)
    seen: list[tuple[int, str, bool]] = []

    def answer(call: Call) -> Reply:
        if call.path != f"/{KEYS}" or len(seen) >= 2:
            return honest(call)
        connection = HTTPConnection("127.0.0.1", admin, timeout=60)
        connection.request("GET", "/readyz")
        found = connection.getresponse()
        seen.append((found.status, found.read().decode(), listens(reviews)))
        connection.close()
        return refusal(418, "the endpoint is down")

    with api_server(tmp_path, answer) as server:
        policies, flags = required(tmp_path, server)
        flags += [f"--bind=127.0.0.1:{reviews}", f"--admin-bind=127.0.0.1:{admin}"]
        with serving(tmp_path, policies, *flags) as process:
            assert posted(process, FIRST) == 200
            assert process.get("/readyz")[0] == 200
    assert [(status, open_) for status, _, open_ in seen] == [(503, False)] * 2
    assert (
        "no keys of API server tokens: GET /openid/v1/jwks: the API server answered" in seen[1][1]
    )


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.usefixtures("http_server")
def test_an_endpoint_that_hangs_delays_only_those_who_need_it(
    http_server: str, tmp_path: Path
) -> None:
    """Requests with a known key are answered at once, those with an unknown one by their deadline."""
    honest, hangs = published(FIRST), [0.0]

    def answer(call: Call) -> Reply:
        found = honest(call)
        return Reply(found.body, found.status, found.headers, hangs[0])

    with api_server(tmp_path, answer) as server:
        policies, flags = required(tmp_path, server)
        with serving(tmp_path, policies, *flags) as process:
            hangs[0] = 30.0
            with process.secure_socket() as waiting:
                head = "POST /validate?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                bearer = f"Authorization: Bearer {token(SECOND).decode()}\r\n\r\n{{}}"
                waiting.sendall((head + bearer).encode())
                for _ in range(5):
                    assert posted(process, FIRST) == 200
                assert not process.lines("rejected"), "it still waits"
                assert posted(process, SECOND, "/validate?timeout=100ms") == 401
                assert b" 401 " in waiting.recv(65536)
            until(lambda: process.lines("rejected"), "the line")
            assert process.get("/readyz")[0] == 200
            assert json.loads(process.get("/policies")[1])["policies"]

"""The admin port: which names it answers to, who sees what, and how often."""

import asyncio
import json
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event

import pytest

from policyd.errors import ConfigError
from policyd.http.admin_gate import BURST, RATE, TRUSTED, AdminGate
from policyd.http.messages import ASGIScope, Receive, Send, respond
from policyd.http.status import RENDERING_SECONDS, RenderCache
from policyd.server.policies.store import Store
from policyd.token_bucket import REMEMBERED
from tests.builders.reviews import body
from tests.http.asking import POD, admin_app, ask
from tests.server.fakes import load
from tests.server.process import PATIENCE, fake_server, until, write_sources


async def app(scope: ASGIScope, _: Receive, send: Send) -> None:
    """Tells whether the client is trusted."""
    await respond(scope, send, 200, json.dumps(scope["state"][TRUSTED]).encode())


HOSTS = [
    ("10.1.2.3:8080", 200),
    ("10.1.2.3", 200),
    ("[fd00::1]:8080", 200),
    ("[fd00::1]", 200),
    ("localhost:8080", 200),
    ("LOCALHOST.", 200),
    ("policyd-0:8080", 200),
    ("policyd.example:8080", 200),
    ("attacker.example:8080", 421),
    ("10.1.2.3.attacker.example", 421),
    ("localhost.attacker.example", 421),
    ("[fd00::1].attacker.example", 200),  # no browser takes this for a host
    ("policyd.example.attacker.example", 421),
]


@pytest.mark.parametrize(("host", "status"), HOSTS)
def test_only_our_names_are_answered(
    monkeypatch: pytest.MonkeyPatch, host: str, status: int
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "policyd-0")
    assert ask(AdminGate(app, ["policyd.example"]), host=host)[0] == status


def test_a_request_without_host_is_answered() -> None:
    assert ask(AdminGate(app))[0] == 200


def test_token_is_needed_for_what_is_guarded(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("secret\n")
    gate = AdminGate(app, token_file=file)
    for path in ("/metrics", "/policies", "/policies/a", "/denials"):
        for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic secret"}):
            status, headers, _ = ask(gate, path, **given)
            assert (status, headers["www-authenticate"]) == (401, 'Bearer realm="policyd"')
        # Loopback needs it as well: other containers of the Pod share it.
        assert ask(gate, path, client="127.0.0.1")[0] == 401
        assert ask(gate, path, authorization="bearer secret")[::2] == (200, True)
    for path in ("/livez", "/readyz", "/healthz"):
        assert ask(gate, path)[0] == 200
    file.write_text("another")
    assert ask(gate, "/metrics", authorization="Bearer secret")[0] == 401
    assert ask(gate, "/metrics", authorization="Bearer another")[0] == 200


def test_token_file_that_cannot_be_read_lets_nobody_in(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with pytest.raises(ConfigError, match="No such file"):
        AdminGate(app, token_file=file)
    file.write_text(" \n")
    with pytest.raises(ConfigError, match="the file is empty"):
        AdminGate(app, token_file=file)
    file.write_text("secret")
    gate = AdminGate(app, token_file=file)
    file.unlink()
    status, _, answer = ask(gate, "/metrics", authorization="Bearer secret")
    assert (status, str(tmp_path) in str(answer)) == (503, False)
    for path in ("/livez", "/readyz", "/healthz"):  # a Pod is not restarted because of it
        assert ask(gate, path)[0] == 200


@pytest.mark.parametrize(
    ("client", "trusted"),
    [("127.0.0.1", True), ("::1", True), ("::ffff:127.0.0.1", True), (POD, False), ("", False)],
)
def test_loopback_is_trusted_without_a_token(client: str, trusted: bool) -> None:
    assert ask(AdminGate(app), client=client)[2] is trusted


def test_an_address_has_so_many_requests_a_second() -> None:
    now = [0.0]
    gate = AdminGate(app, clock=lambda: now[0])
    statuses = [ask(gate)[0] for _ in range(BURST + 5)]
    assert statuses == [200] * BURST + [429] * 5
    assert ask(gate, client="10.1.2.4")[0] == 200
    now[0] += 10 / RATE
    assert [ask(gate)[0] for _ in range(11)] == [200] * 10 + [429]


def test_addresses_that_were_quiet_are_forgotten() -> None:
    now = [0.0]
    gate = AdminGate(app, clock=lambda: now[0])
    for number in range(3 * REMEMBERED):
        now[0] += 1
        ask(gate, client=f"10.0.{number >> 8}.{number & 255}")
    assert len(gate._pace) <= REMEMBERED


def test_rendering_takes_no_more_than_its_part_of_the_time() -> None:
    now = [0.0]
    rendered = RenderCache[tuple[bytes, str]](lambda: now[0], lambda: now[0])
    count = [0]

    def render() -> tuple[bytes, str]:
        now[0] += 0.1
        count[0] += 1
        return b"%d" % count[0], "text/plain"

    for _ in range(100):
        rendered.get("a", render)
    assert count[0] * 0.1 <= RENDERING_SECONDS + 0.2
    assert rendered.get("a", render)[0] == b"%d" % count[0]
    now[0] += 60
    assert rendered.get("a", render)[0] == b"%d" % count[0]
    assert count[0] > 1


def test_requests_are_answered_while_a_page_is_rendered() -> None:
    rendered, begun, answered = RenderCache[tuple[bytes, str]](), Event(), Event()

    def render() -> tuple[bytes, str]:
        begun.set()
        assert answered.wait(60)
        return b"page", "text/plain"

    async def scrapes() -> list[bytes]:
        pages = [asyncio.create_task(rendered.later("a", lambda: render)) for _ in range(2)]
        while not begun.is_set():
            await asyncio.sleep(0.001)
        answered.set()  # the loop runs
        return [(await page)[0] for page in pages]

    assert asyncio.run(scrapes()) == [b"page"] * 2


def test_strangers_see_no_errors_and_no_files(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="allow a", b="broken")
    store = Store([sources], load)
    store.start()
    application = admin_app(store)
    for path in ("/policies", "/policies/b"):
        whole = ask(application, path, "127.0.0.1")[2]
        assert whole["policies"][-1]["problem"] and whole["policies"][-1]["source"]
        assert len(whole["lastReload"]["errors"]) == 1
        seen = ask(application, path)[2]
        assert seen["policies"][-1]["state"] == "quarantined"
        assert not {"problem", "source"} & set(seen["policies"][-1])
        assert "errors" not in seen["lastReload"] and seen["lastReload"]["errorCount"] == 1


@pytest.mark.usefixtures("http_server")
def test_flood_of_the_admin_port_does_not_stop_reviews(tmp_path: Path) -> None:
    with fake_server(tmp_path) as server:
        flood = [
            HTTPConnection("127.0.0.1", server.admin_port, timeout=PATIENCE) for _ in range(90)
        ]
        for _ in range(6):
            for connection in flood:
                connection.request("GET", "/metrics")
            for connection in flood:
                try:
                    assert connection.getresponse().read()
                except TimeoutError:
                    raise AssertionError("a connection is neither answered nor closed") from None
                except (OSError, HTTPException):  # there is no place for so many
                    connection.close()
            assert server.post("/validate", body())[0] == 200
        for connection in flood:
            connection.close()
        until(lambda: server.get("/livez")[0] == 200, "a probe")

"""Garbage collection: connections do not need it, and sets are exempt from it and still freed."""

import gc
import signal
import ssl
import sys
from pathlib import Path

import pytest

from policyd.gc_policy import collect_as_usual
from policyd.server.policies.policy_loader import PolicyLoader
from tests.server import pair
from tests.server.announcing import whole_request
from tests.server.process import Process, until, write_sources
from tests.server.serve import DENY, serving, write_policy

RELOADS = 50
IDLE = 'policyd_connections{port="reviews",state="idle"}'
BUSY = 'policyd_connections{port="reviews",state="busy"}'


def ask(sock: ssl.SSLSocket) -> None:
    """One review."""
    sock.sendall(whole_request())
    assert sock.recv(65536).startswith(b"HTTP/1.1 200")


def garbage(server: Process) -> list[str]:
    """What a collection of the server finds, once all connections are closed."""
    until(lambda: server.metric(IDLE) + server.metric(BUSY) == 0, "the end of connections")
    before = len(server.lines("garbage"))
    server.child.send_signal(signal.SIGWINCH)
    until(lambda: len(server.lines("garbage")) > before, "the collection")
    found: list[str] = server.lines("garbage")[-1]["types"]
    return found


def test_closed_connections_are_no_garbage(tmp_path: Path) -> None:
    """A reload exempts what is there from collection: open connections could not be freed later."""
    sources = write_sources(tmp_path / "sources", a="allow a")
    settings = (f"policies={sources}", "bind=127.0.0.1:0", "admin_bind=127.0.0.1:0", "drain=0")
    certificate, key = pair.files()
    more = (f"tls_cert={certificate}", f"tls_key={key}")
    command = [sys.executable, "-m", "tests.server.garbage", *settings, *more]
    with Process(command, tmp_path / "log") as server:
        for _ in range(2):  # caches are filled the first time
            with server.secure_socket() as sock:
                ask(sock)
            for incomplete in (b"", b"POST /va", whole_request()[:-1], b"nonsense\r\n\r\n"):
                with server.secure_socket() as sock:
                    sock.sendall(incomplete)
            found = garbage(server)
        assert found == []


def test_a_reload_looks_through_little_at_once(tmp_path: Path) -> None:
    """Whatever a policy makes, and however many there are: a collection stops all requests."""
    conditions = ", ".join(
        f'{{expression: "[1, 2, 3].all(a, a < {number} || a > size(object.metadata.name))"}}'
        for number in range(100)
    )

    def write(version: int) -> None:
        for name in "abcdefgh":
            write_policy(tmp_path / "policies", name, f"validations: [{conditions}]  # {version}")

    examined = []

    def note(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            examined.append(len(gc.get_objects()))

    loader = PolicyLoader()
    write(0)
    loader.load([tmp_path / "policies"])
    collect_as_usual()
    gc.callbacks.append(note)
    try:
        for version in (1, 2):
            write(version)
            loader.load([tmp_path / "policies"])
    finally:
        gc.callbacks.remove(note)
    assert len(examined) > 10
    # Python's own pace is 700 new ones. A set of these has 50,000.
    assert max(examined) < 2_000


@pytest.mark.slow
def test_reloads_leave_nothing_behind(tmp_path: Path) -> None:
    """Neither the sets that were replaced nor the connections that were open meanwhile."""
    policies = tmp_path / "policies"

    def write(number: int) -> None:
        for name in "abcdefgh":
            write_policy(policies, name, DENY.replace("TEXT", f"{number} {name}"))

    write(0)
    with serving(tmp_path, policies) as server:
        sizes = []
        for number in range(1, RELOADS + 1):
            sockets = [server.secure_socket() for _ in range(8)]
            for sock in sockets:
                ask(sock)
            before = server.metric('policyd_reloads_total{result="success"}')
            write(number)
            server.child.send_signal(signal.SIGHUP)
            series = 'policyd_reloads_total{result="success"}'
            until(lambda: server.metric(series) > before, "the reload")  # noqa: B023
            for sock in sockets:
                ask(sock)
                sock.close()
            until(lambda: server.metric(IDLE) == 0, "the end of connections")
            sizes.append(server.resident())
        print([size >> 10 for size in sizes])
        # A connection takes 60 KiB, a set of eight policies 200.
        assert sizes[-1] - sizes[RELOADS // 5] < 4 * 2**20

"""No file descriptors are left: existing clients are served, new ones after a while, probes always."""

import socket
from contextlib import ExitStack
from pathlib import Path

from tests.builders.reviews import body
from tests.faults.asking import ask
from tests.server.announcing import whole
from tests.server.process import Process, trusting, until
from tests.server.serve import DENY, command, write_policy

FILES = 64


def test_without_descriptors_clients_wait_and_probes_are_answered(tmp_path: Path) -> None:
    """RLIMIT_NOFILE is less than --max-connections: idle connections make room, as at that limit."""
    policies = write_policy(tmp_path / "policies", "p", DENY).parent
    limited = ["sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh"]
    with Process([*limited, *command(policies)], tmp_path / "server.log") as server:
        (said,) = server.lines("limit")
        assert said["level"] == "warning" and "--max-connections" in said["message"]
        with ExitStack() as stack:
            kept = server.connect()
            for address in ("127.0.0.2", "127.0.0.3"):
                for _ in range(2 * FILES):
                    raw = socket.create_connection(("127.0.0.1", server.port), 20, (address, 0))
                    stack.enter_context(raw)
            # Handshakes that never come hold their places for --handshake-timeout.
            assert server.get("/livez") == (200, "ok")
            assert server.get("/readyz") == (200, "ok")
            until(lambda: answered(server), "an answer to a new client")
            kept.request("POST", "/validate", body())
            assert kept.getresponse().status == 200
            kept.close()
            for _ in range(FILES):
                connected(server, stack)
            assert answered(server)
            assert server.get("/livez") == (200, "ok")
            closed = 'policyd_closed_connections_total{port="reviews",reason="room"}'
            assert server.metric(closed) > 0
        assert answered(server)
        write_policy(policies, "p", DENY.replace("TEXT", "more"))  # needs files, too
        until(lambda: server.metric('policyd_reloads_total{result="success"}') >= 2, "a reload")
        assert not server.lines("defect")


def answered(server: Process) -> bool:
    try:
        return bool(ask(server, "/validate", body()).response["allowed"])
    except OSError:
        return False


def connected(server: Process, stack: ExitStack) -> None:
    """A client that has had an answer and stays."""
    raw = socket.create_connection(("127.0.0.1", server.port), 20, ("127.0.0.4", 0))
    sock = stack.enter_context(trusting().wrap_socket(raw))
    sock.sendall(whole("/validate", body()))
    assert sock.recv(65536).startswith(b"HTTP/1.1 200")

"""A server's memory does not grow with what it has done: reloads of all policies, and requests.

``python -m tools.bench memory`` does ten times as much.
"""

import ssl
import sys
from pathlib import Path

import pytest

from tests.sampling import portion
from tests.server.announcing import whole_request
from tests.server.process import Process, until

POLICIES = 40
RELOADS = portion(30, least=12)
REQUESTS = 20_000
AT_ONCE = 100
STATUS = b"HTTP/1.1 200"
# One set takes 1 MB, and a request that left 200 bytes behind would be seen.
ALLOWED = 4 * 2**20


def write(sources: Path, version: int) -> None:
    """Policies that all differ from those of other versions."""
    for number in range(POLICIES):
        whole = sources / ".new"  # what is written is not read in between
        whole.write_text(
            f"""
apiVersion: policyd.dev/v1
kind: Policy
metadata: {{name: p{number}}}
spec:
  matchConstraints:
    resourceRules:
    - {{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}}
  variables:
  - {{name: names, expression: "object.metadata.?labels.orValue({{}}).map(k, k)"}}
  validations:
  - expression: variables.names.all(n, n != 'v{version}-{number}') && {version} < {version + 1}
    messageExpression: "'not ' + variables.names.join(', ')"
"""
        )
        whole.rename(sources / f"{number}.yaml")


def reload(server: Process, sources: Path, version: int) -> None:
    before = len(server.lines("reload"))
    write(sources, version)
    until(lambda: len(server.lines("reload")) > before, f"reload {version}")
    assert server.lines("reload")[-1]["level"] == "info"


def send(sock: ssl.SSLSocket, count: int) -> None:
    """Send requests many at once, and read all answers."""
    for _ in range(count // AT_ONCE):
        sock.sendall(whole_request() * AT_ONCE)
        answers, end = 0, b""
        while answers < AT_ONCE or not end.endswith(b"}"):
            piece = sock.recv(65536)
            assert piece, "the server closed the connection"
            answers += (end + piece).count(STATUS)
            end = (end + piece)[1 - len(STATUS) :]


@pytest.mark.slow
def test_memory_stays_where_it_is(tmp_path: Path) -> None:
    sources = tmp_path / "policies"
    sources.mkdir()
    write(sources, 0)
    flags = ["--self-signed", "--bind", "127.0.0.1:0", "--admin-bind", "127.0.0.1:0"]
    command = [sys.executable, "-m", "policyd", "serve", "-p", str(sources), *flags]
    with Process(command, tmp_path / "log") as server, server.secure_socket() as sock:
        send(sock, REQUESTS // 10)
        for version in range(1, 6):
            reload(server, sources, version)
        settled = server.resident()
        for version in range(6, 6 + RELOADS):
            reload(server, sources, version)
        reloaded = server.resident()
        send(sock, REQUESTS)
        assert reloaded - settled < ALLOWED
        assert server.resident() - reloaded < ALLOWED

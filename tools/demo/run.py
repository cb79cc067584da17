"""Show policyd at work: start the real server, post recorded reviews over TLS, explain the answers.

``make demo``. Uses nothing of the package but its command line and its ports, as an API server
would; the reviews beside this file were recorded from a real one. Ends with exit code 0 when every
answer was the expected one.
"""

import base64
import contextlib
import http.client
import json
import re
import socket
import ssl
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REVIEWS = Path(__file__).parent / "reviews"
POLICIES = ("policies/pod-security", "policies/mutation")
START_SECONDS = 30.0
COUNTED = re.compile(
    r"^(policyd_(?:policy_decisions|admission_requests|patch_operations)_total\{.*\}) (\S+)$",
    re.MULTILINE,
)
ADMITTED = 'policyd_policy_decisions_total{decision="admit"'


@dataclass(frozen=True, slots=True)
class Step:
    """One request of the demonstration and what must come back."""

    title: str
    path: str
    body: bytes
    status: int = 200
    allowed: bool | None = None
    patched: bool = False


@dataclass(frozen=True, slots=True)
class Server:
    """Where the running server answers."""

    reviews: str
    admin: str


def steps() -> tuple[Step, ...]:
    """What is asked, in order."""
    good, bad, plain = (
        (REVIEWS / f"{name}.json").read_bytes() for name in ("good", "bad", "mutated")
    )
    return (
        Step("A pod that keeps to every policy", "/validate", good, allowed=True),
        Step("A pod that shares its node's namespaces", "/validate", bad, allowed=False),
        Step("A pod that says little gets defaults", "/mutate", plain, allowed=True, patched=True),
        Step("A body that is cut off", "/validate", good[: len(good) // 2], status=400),
    )


def main() -> int:
    """Run the demonstration; 1 if an answer was not the expected one."""
    with serving() as server:
        before = counters(server)
        wrong = [step.title for step in steps() if not show(step, server)]
        after = counters(server)
    heading("Counters that moved (GET /metrics)")
    moved = {name: value - before.get(name, 0.0) for name, value in after.items()}
    admitted = [change for name, change in moved.items() if name.startswith(ADMITTED) and change]
    for name, change in moved.items():
        if change and not name.startswith(ADMITTED):
            say(f"{name}  +{change:g}")
    say(f"{ADMITTED},…}}  +{sum(admitted):g} in {len(admitted)} policies")
    if wrong:
        heading("Not as expected: " + "; ".join(wrong))
        return 1
    heading("Go on")
    say(f".venv/bin/policyd serve --self-signed --policies {POLICIES[0]}")
    say(f".venv/bin/policyd review -p {POLICIES[0]} {(REVIEWS / 'bad.json').relative_to(ROOT)}")
    say(f".venv/bin/policyd test {POLICIES[0]}")
    return 0


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """The real server as a process of its own, on free ports, ended by SIGTERM."""
    ports = free_ports(2)
    command = [
        *(sys.executable, "-m", "policyd"),
        "serve",
        "--self-signed",
        f"--bind=127.0.0.1:{ports[0]}",
        f"--admin-bind=127.0.0.1:{ports[1]}",
        "--log-format=text",
        "--drain=0",
        *(f"--policies={each}" for each in POLICIES),
    ]
    heading("Starting the server")
    say(" ".join([".venv/bin/policyd", *command[3:]]))
    server = Server(f"https://127.0.0.1:{ports[0]}", f"http://127.0.0.1:{ports[1]}")
    started = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            wait_until_ready(process, server)
            say(f"ready after {time.monotonic() - started:.1f} s")
            yield server
        finally:
            process.terminate()


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


def wait_until_ready(process: subprocess.Popen[bytes], server: Server) -> None:
    """Ask /readyz until it says 200; SystemExit if the server ends or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"the server ended with exit code {process.returncode}")
        with contextlib.suppress(OSError):
            if call(f"{server.admin}/readyz")[0] == 200:
                return
        time.sleep(0.05)
    raise SystemExit(f"the server was not ready after {START_SECONDS:g} s")


def call(url: str, body: bytes | None = None) -> tuple[int, bytes, float]:
    """POST a body, or GET; the status, the answer and the milliseconds from sending to having it.

    The certificate is not checked: the server has just made it.
    """
    parts = urllib.parse.urlsplit(url)
    address = (str(parts.hostname), parts.port)
    connection = (
        http.client.HTTPSConnection(*address, timeout=10, context=unchecked())
        if parts.scheme == "https"
        else http.client.HTTPConnection(*address, timeout=10)
    )
    with contextlib.closing(connection):
        connection.connect()
        started = time.perf_counter()
        method = "GET" if body is None else "POST"
        connection.request(method, f"{parts.path}?{parts.query}", body)
        answer = connection.getresponse()
        return answer.status, answer.read(), (time.perf_counter() - started) * 1000


def unchecked() -> ssl.SSLContext:
    """TLS that accepts any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def show(step: Step, server: Server) -> bool:
    """Ask, print, and say whether the answer was the expected one."""
    heading(step.title)
    say(f"POST {step.path}?timeout=5s  {asked(step.body)}")
    status, content, took = call(f"{server.reviews}{step.path}?timeout=5s", step.body)
    answer: dict[str, Any] = json.loads(content)
    if status != 200:
        say(f"HTTP {status} after {took:.1f} ms: {json.dumps(answer)}")
        return status == step.status
    response = answer["response"]
    say(f"HTTP 200 after {took:.1f} ms, allowed: {str(response['allowed']).lower()}")
    if not response["allowed"]:
        say(f"{response['status']['code']} {response['status'].get('reason', '')}")
        for cause in response["status"].get("details", {}).get("causes", ()):
            say(f"  {cause['message']}")
    patch = json.loads(base64.b64decode(response.get("patch", "") or "W10="))
    for operation in patch:
        say("  " + json.dumps(operation))
    return (status, response["allowed"], bool(patch)) == (step.status, step.allowed, step.patched)


def asked(body: bytes) -> str:
    """A review in a few words."""
    try:
        request = json.loads(body)["request"]
    except ValueError:
        return f"{len(body)} bytes that are not JSON"
    kind, user = request["kind"]["kind"], request["userInfo"]["username"]
    return (
        f"{request['operation']} {kind} {request['namespace']}/{request['name']} by {user}"
        f" ({len(body)} bytes)"
    )


def counters(server: Server) -> dict[str, float]:
    """The counters of requests and decisions by their full names."""
    text = call(f"{server.admin}/metrics")[1].decode()
    return {name: float(value) for name, value in COUNTED.findall(text)}


def heading(text: str) -> None:
    """A line that begins a part."""
    print(f"\n== {text}", flush=True)


def say(text: str) -> None:
    """A line of a part."""
    print(f"   {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""Demonstrate policyd: start the server, post recorded AdmissionReviews over TLS, explain the
responses.

``make demo``. Uses only the command line and the ports of policyd, as an API server would; the
AdmissionReviews beside this file were recorded from a real one. The exit code is 0 if every
response was the expected one.
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
LOG = ROOT / "build" / "demo.log"  # what the server writes
POLICIES = ("policies/pod-security", "policies/mutation")
START_SECONDS = 30.0
COUNTED = re.compile(
    r"^(policyd_(?:policy_decisions|admission_requests|patch_operations)_total\{.*\}) (\S+)$",
    re.MULTILINE,
)
ADMITTED = 'policyd_policy_decisions_total{decision="admit"'


@dataclass(frozen=True, slots=True)
class Step:
    """One request of the demo and its expected response."""

    title: str
    path: str
    body: bytes
    status: int = 200
    allowed: bool | None = None
    patched: bool = False


@dataclass(frozen=True, slots=True)
class Server:
    """The addresses of the running server."""

    reviews: str
    admin: str


def steps() -> tuple[Step, ...]:
    """The requests, in order."""
    good, bad, plain = (
        (REVIEWS / f"{name}.json").read_bytes() for name in ("good", "bad", "mutated")
    )
    return (
        Step("A pod that complies with every policy", "/validate", good, allowed=True),
        Step("A pod that shares its node's namespaces", "/validate", bad, allowed=False),
        Step("A minimal pod gets defaults", "/mutate", plain, allowed=True, patched=True),
        Step("A truncated body", "/validate", good[: len(good) // 2], status=400),
    )


def main() -> int:
    """Run the demo; return 1 if a response was not the expected one."""
    with serving() as server:
        before = counters(server)
        wrong = [step.title for step in steps() if not show(step, server)]
        after = counters(server)
    heading("Changed counters (GET /metrics)")
    moved = {name: value - before.get(name, 0.0) for name, value in after.items()}
    admitted = [change for name, change in moved.items() if name.startswith(ADMITTED) and change]
    for name, change in moved.items():
        if change and not name.startswith(ADMITTED):
            show_line(f"{name}  +{change:g}")
    show_line(f"{ADMITTED},…}}  +{sum(admitted):g} in {len(admitted)} policies")
    if wrong:
        heading("Unexpected responses: " + "; ".join(wrong))
        return 1
    heading("Next steps")
    show_line(f".venv/bin/policyd serve --self-signed --policies {POLICIES[0]}")
    show_line(
        f".venv/bin/policyd review -p {POLICIES[0]} {(REVIEWS / 'bad.json').relative_to(ROOT)}"
    )
    show_line(f".venv/bin/policyd test {POLICIES[0]}")
    show_line(f"less {LOG.relative_to(ROOT)}  # the log of this server")
    return 0


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """The real server as a separate process on free ports, stopped with SIGTERM."""
    ports = free_ports(2)
    command = [
        sys.executable,
        "-m",
        "policyd",
        "serve",
        "--self-signed",
        f"--bind=127.0.0.1:{ports[0]}",
        f"--admin-bind=127.0.0.1:{ports[1]}",
        "--log-format=text",
        "--drain=0",
        *(f"--policies={each}" for each in POLICIES),
    ]
    heading("Starting the server")
    show_line(".venv/bin/policyd serve \\")
    for option in command[4:-1]:
        show_line(f"  {option} \\")
    show_line(f"  {command[-1]}")
    server = Server(f"https://127.0.0.1:{ports[0]}", f"http://127.0.0.1:{ports[1]}")
    started = time.monotonic()
    LOG.parent.mkdir(exist_ok=True)
    with (
        LOG.open("wb") as log,
        subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log) as process,
    ):
        try:
            wait_until_ready(process, server)
            show_line(f"ready after {time.monotonic() - started:.1f} s")
            yield server
        finally:
            process.terminate()


def free_ports(count: int) -> list[int]:
    """Ports that are free now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


def wait_until_ready(process: subprocess.Popen[bytes], server: Server) -> None:
    """Query /readyz until it returns 200; SystemExit with the log of the server if it exits or
    takes too long.
    """
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"{LOG.read_text()}the server exited with code {process.returncode}")
        with contextlib.suppress(OSError):
            if call(f"{server.admin}/readyz")[0] == 200:
                return
        time.sleep(0.05)
    raise SystemExit(f"{LOG.read_text()}the server was not ready after {START_SECONDS:g} s")


def call(url: str, body: bytes | None = None) -> tuple[int, bytes, float]:
    """POST a body, or GET; return the status, the body of the response, and the milliseconds that
    it took.

    The certificate is not verified: the server has just created it.
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
    """Send a request, print the response, and return whether it is the expected one."""
    heading(step.title)
    show_line(f"POST {step.path}?timeout=5s  {summary(step.body)}")
    status, content, took = call(f"{server.reviews}{step.path}?timeout=5s", step.body)
    answer: dict[str, Any] = json.loads(content)
    if status != 200:
        show_line(f"HTTP {status} after {took:.1f} ms: {json.dumps(answer)}")
        return status == step.status
    response = answer["response"]
    show_line(f"HTTP 200 after {took:.1f} ms, allowed: {str(response['allowed']).lower()}")
    if not response["allowed"]:
        show_line(f"{response['status']['code']} {response['status'].get('reason', '')}")
        for cause in response["status"].get("details", {}).get("causes", ()):
            show_line(f"  {cause['message']}")
    patch = json.loads(base64.b64decode(response.get("patch", "") or "W10="))
    for operation in patch:
        show_line("  " + json.dumps(operation))
    return (status, response["allowed"], bool(patch)) == (step.status, step.allowed, step.patched)


def summary(body: bytes) -> str:
    """A short description of a request."""
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
    """The counters of requests and decisions by name and labels."""
    text = call(f"{server.admin}/metrics")[1].decode()
    return {name: float(value) for name, value in COUNTED.findall(text)}


def heading(text: str) -> None:
    """Print the heading of a section."""
    print(f"\n== {text}", flush=True)


def show_line(line: str) -> None:
    """Print a line of a section."""
    print(f"   {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

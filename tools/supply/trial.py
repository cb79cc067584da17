"""Tries an installed policyd: all suites of the policies, and a server that answers a review.

Run by the Python to try: ``python -W error trial.py POLICIES``.
"""

import json
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from typing import Any

POLICYD = [sys.executable, "-P", "-W", "error", "-m", "policyd"]  # -P: not of the source tree
_POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [
    {"name": "web", "image": "web:latest", "securityContext": {"privileged": True}}]}}  # fmt: skip
_REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "1",
        "operation": "CREATE",
        "name": "web",
        "namespace": "default",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "me"},
        "object": _POD,
    },
}


def main() -> None:
    """Raise an error if anything fails."""
    policies = sys.argv[1]
    subprocess.run([*POLICYD, "test", policies], check=True)
    denies(POLICYD, policies)


def denies(policyd: list[str], policies: str, tls: Sequence[str] = ("--self-signed",)) -> None:
    """Start a server by this command; raise SystemExit unless it denies a Pod."""
    where = ["--bind", "127.0.0.1:0", "--admin-bind", "127.0.0.1:0", "--drain", "0s"]
    command = [*policyd, "serve", "-p", policies, *tls, *where]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            response = _answer(server)
        finally:
            server.send_signal(signal.SIGTERM)
    if response["allowed"] or server.returncode:
        raise SystemExit(f"status {server.returncode}, {response}")


def _answer(server: subprocess.Popen[str]) -> dict[str, Any]:
    log: list[str] = []
    for line in server.stderr or ():
        log.append(line)
        if '"event":"listening"' in line:
            break
    else:
        raise SystemExit("".join(log))
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    url = json.loads(log[-1])["reviews"] + "/validate"
    body = json.dumps(_REVIEW).encode()
    with urllib.request.urlopen(url, body, context=context) as got:  # noqa: S310 - our own server
        response: dict[str, Any] = json.load(got)["response"]
    return response


if __name__ == "__main__":
    main()

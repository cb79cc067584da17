"""The node as an object: ``cluster/node.sh`` starts and stops it. No tests here."""

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from policyd.json_types import JSONObject
from tests.e2e.cluster import Cluster, version_of
from tests.node.programs import BUILT, SCRIPTS, programs

DIR = "POLICYD_NODE_DIR"
SCRIPT = SCRIPTS / "node.sh"
PATIENCE = 120.0  # seconds for one command
READ = "import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1], timeout=20).read().decode())"


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended."""

    status: int
    out: str
    err: str


class Failed(AssertionError):
    """A command ended with an error that the test does not expect."""


class Node:
    """One node, whose state is in ``folder``; everything runs in its network."""

    def __init__(self) -> None:
        self.folder = Path(os.environ.get(DIR) or BUILT / "run").resolve()
        self.programs = programs()
        self._environment = {
            **os.environ,
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "POLICYD_NODE_BIN": str(self.programs),
            "POLICYD_NODE_DIR": str(self.folder),
            "HOME": str(self.folder / "home"),
        }

    def start(self, images: Iterable[Path] = (), **environment: str) -> str:
        """Start the node and wait until it is Ready; what the script prints."""
        (self.folder / "home").mkdir(parents=True, exist_ok=True)
        return self._script("start", *map(str, images), **environment)

    def stop(self, *, keep: bool = False) -> None:
        """End the node; with ``keep`` the next start is a reboot."""
        self._script("stop", KEEP="1" if keep else "")

    def load(self, image: Path) -> None:
        self._script("load", str(image))

    def inside(self, *command: str) -> str:
        """Run a command in all namespaces of the node; its output."""
        return self._script("exec", *command)

    def start_api_server(self) -> None:
        """Start the API server again, after it has ended."""
        self._script("apiserver")

    @contextmanager
    def network(self) -> Iterator[Cluster]:
        """The calling thread, and what it starts, in the network of the node; its API server."""
        first = (self.folder / "init.pid").read_text().strip()
        with (
            Path("/proc/thread-self/ns/net").open("rb") as ours,
            Path(f"/proc/{first}/ns/net").open("rb") as theirs,
        ):
            _enter(theirs)
            try:
                yield Cluster(
                    "https://10.77.0.1:6443",
                    self.folder / "pki",
                    version_of(self.programs),
                    self.programs,
                    "http://127.0.0.1:2379",
                )
            finally:
                _enter(ours)

    def _script(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run(
            [SCRIPT, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**self._environment, **environment},
        )
        if done.returncode:
            raise Failed(f"node.sh {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def start_process(
        self, command: Sequence[str], cwd: Path | None = None, log: IO[str] | None = None
    ) -> "subprocess.Popen[str]":
        """Start a program of this machine in the network of the node; ``log`` takes its errors."""
        return subprocess.Popen(
            [SCRIPT, "net", *command],
            stdout=subprocess.PIPE if log is None else log,
            stderr=log,
            text=True,
            env=self._environment,
            cwd=cwd,
        )

    def run(
        self,
        *command: str,
        sent: str | None = None,
        within: float = PATIENCE,
        cwd: Path | None = None,
    ) -> Ran:
        """Run a program of this machine in the network of the node."""
        done = subprocess.run(
            [SCRIPT, "net", *command],
            input=sent,
            capture_output=True,
            text=True,
            check=False,
            timeout=within,
            env=self._environment,
            cwd=cwd,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def read(self, url: str) -> str:
        """The body of a page that is served in the network of the node; Failed if there is none."""
        done = self.run(sys.executable, "-c", READ, url)
        if done.status:
            raise Failed(f"{url}: {done.err.splitlines()[-1]}")
        return done.out

    def kubectl(self, *arguments: str, sent: str | None = None, within: float = PATIENCE) -> str:
        """The output of kubectl, which must succeed."""
        done = self.run("kubectl", *arguments, sent=sent, within=within)
        if done.status:
            raise Failed(f"kubectl {' '.join(arguments)}: {done.out}{done.err}")
        return done.out

    def refused(self, *arguments: str, sent: str | None = None) -> str:
        """What kubectl prints as its error; it must fail."""
        done = self.run("kubectl", *arguments, sent=sent)
        if not done.status:
            raise Failed(f"kubectl {' '.join(arguments)} succeeded: {done.out}{done.err}")
        return done.err

    def get(self, *arguments: str) -> Any:
        """``kubectl get`` as JSON: an object, or a list's ``items``."""
        found = json.loads(self.kubectl("get", *arguments, "-o", "json"))
        return found["items"] if found["kind"] == "List" or "items" in found else found

    def apply(self, *documents: JSONObject | Mapping[str, Any]) -> str:
        return self.kubectl("apply", "-f", "-", sent=manifest(*documents))

    def audited(self) -> list[dict[str, Any]]:
        """The events of the audit log."""
        lines = (self.folder / "log/audit.log").read_text().splitlines()
        return [json.loads(line) for line in lines]


def _enter(network: IO[bytes]) -> None:
    """Move the calling thread into a network; Python has a function for it from 3.12 on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(network.fileno(), 0):
        raise OSError(ctypes.get_errno(), "setns")


def manifest(*documents: JSONObject | Mapping[str, Any]) -> str:
    """Documents as the standard input of ``kubectl apply -f -``."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)})


def until(satisfied: Callable[[], object], what: str, within: float = 90.0) -> float:
    """Wait for a condition; the seconds that it took."""
    begin = time.monotonic()
    while not satisfied():
        if time.monotonic() - begin > within:
            raise Failed(f"not in {within:.0f} s: {what}")
        time.sleep(0.1)
    return time.monotonic() - begin

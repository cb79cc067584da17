"""The programs of a campaign: policyd, and a Prometheus that scrapes it."""

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loadtest.policies import POLICIES, ROOT
from tools.demo.run import free_ports

START_SECONDS = 30.0
SCRAPE_SECONDS = 1
PROGRAM = "prometheus"


class CampaignError(Exception):
    """What is missing or does not start, and the remedy."""


@dataclass(frozen=True, slots=True)
class Server:
    """The addresses of policyd, and its process."""

    reviews: str
    admin: str
    pid: int


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A Prometheus that scrapes the server."""

    address: str

    def value(self, query: str, at: float) -> float | None:
        """The value of a query at a time (seconds since 1970); None if there is none."""
        given = urllib.parse.urlencode({"query": query, "time": f"{at:.3f}"})
        with urllib.request.urlopen(f"{self.address}/api/v1/query?{given}", timeout=10) as answer:
            found = json.load(answer)["data"]["result"]
        return float(found[0]["value"][1]) if found else None


@contextlib.contextmanager
def serving(folder: Path, processors: set[int] | None) -> Iterator[Server]:
    """policyd with the policies of the corpus, on its own processors if there are any."""
    ports = free_ports(2)
    command = [
        sys.executable,
        "-m",
        "policyd",
        "serve",
        "--self-signed",
        f"--bind=127.0.0.1:{ports[0]}",
        f"--admin-bind=127.0.0.1:{ports[1]}",
        *(f"--policies={each}" for each in POLICIES),
    ]
    admin = f"http://127.0.0.1:{ports[1]}"
    with running(command, folder / "policyd.log", f"{admin}/readyz") as pid:
        if processors:
            for thread in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setaffinity(int(thread.name), processors)
        yield Server(f"https://127.0.0.1:{ports[0]}", admin, pid)


@contextlib.contextmanager
def scraping(folder: Path, program: Path, server: Server) -> Iterator[Prometheus]:
    """Prometheus, which scrapes the server every second."""
    if not program.exists():
        raise CampaignError(
            f"{program} does not exist: build it with tests/node/cluster/programs.sh prometheus,"
            " name another one with --prometheus, or leave it out with --no-prometheus"
        )
    [port] = free_ports(1)
    target = {"targets": [server.admin.removeprefix("http://")]}
    settings = {
        "global": {"scrape_interval": f"{SCRAPE_SECONDS}s"},
        "scrape_configs": [{"job_name": "policyd", "static_configs": [target]}],
    }
    file = folder / "prometheus.yaml"
    file.write_text(json.dumps(settings))
    command = [
        str(program),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    address = f"http://127.0.0.1:{port}"
    with running(command, folder / "prometheus.log", f"{address}/-/ready"):
        yield Prometheus(address)


@contextlib.contextmanager
def running(command: list[str], log: Path, ready: str) -> Iterator[int]:
    """A program, once ``ready`` answers with 200, until it is stopped with SIGTERM; its pid."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + START_SECONDS
        while not is_ready(ready):
            if process.poll() is not None or time.monotonic() > end:
                raise CampaignError(f"{Path(command[0]).name} did not start: see {log}")
            time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def is_ready(url: str) -> bool:
    """Whether a URL answers with 200."""
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
        return bool(answer.status == 200)
    return False

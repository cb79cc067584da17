"""A registry on loopback, and cosign with a key of its own. No tests here."""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.programs import folder, program
from tests.shared import ROOT
from tools.publish import statements

# Nothing asks a service: neither a transparency log, nor the trusted keys of one.
OFFLINE = ("--insecure-ignore-tlog=true", "--allow-http-registry")


def configuration(directory: Path, host: str) -> Path:
    """The file that configures a registry with its files in a directory."""
    settings = {
        "version": 0.1,
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(directory / "files")}},
        "http": {"addr": host},
    }
    file = directory / "registry.yaml"
    file.write_text(json.dumps(settings))
    return file


@contextmanager
def running(directory: Path) -> Iterator[str]:
    """A registry; its host and port."""
    host = f"127.0.0.1:{free_port()}"
    command = [program("registry"), "serve", str(configuration(directory, host))]
    with (directory / "registry.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until_ready(host, server, directory / "registry.log")
        yield host
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def until_ready(host: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until the registry answers."""
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        with suppress(urllib.error.URLError), urllib.request.urlopen(f"http://{host}/v2/"):
            return
        time.sleep(0.1)
    raise AssertionError(log.read_text())


@dataclass(frozen=True, slots=True)
class Tools:
    """Programs with a home of their own, which has the keys."""

    home: Path

    def run(self, *command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run a program of ours, by its name."""
        paths = [str(folder()), os.environ["PATH"]]
        variables = {
            "PATH": os.pathsep.join(paths),
            "HOME": str(self.home),
            "COSIGN_PASSWORD": "",
            **environment,
        }
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=variables, cwd=ROOT
        )

    def output(self, *command: str, **environment: str) -> str:
        """What a program prints that must succeed."""
        done = self.run(*command, **environment)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def key(self, name: str) -> Path:
        """A pair of keys, made once: ``name.key`` and ``name.pub``."""
        prefix = self.home / name
        if not prefix.with_suffix(".key").exists():
            self.output("cosign", "generate-key-pair", "--output-key-prefix", str(prefix))
        return prefix.with_suffix(".pub")

    def verify(
        self, reference: str, *options: str, key: str = "release"
    ) -> "subprocess.CompletedProcess[str]":
        """``cosign verify``, or ``verify-attestation`` of a type."""
        command = "verify-attestation" if "--type" in options else "verify"
        words = ["cosign", command, "--key", str(self.key(key)), *OFFLINE, *options]
        return self.run(*words, reference)

    def statement(self, reference: str, kind: str) -> dict[str, Any]:
        """What is attested, after it was verified."""
        done = self.verify(reference, "--type", kind)
        assert done.returncode == 0, done.stderr
        (statement,) = statements(done.stdout)
        return statement

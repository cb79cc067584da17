"""A policyd of its own process that serves the policies of a run while it is measured."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from policyd._core.system.libc import die_with
from policyd.config import PREFIX
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.option_values import Address
from policyd.versions import KubernetesVersion

READY_WITHIN = 60.0  # seconds
_PAUSE = 0.02
_GRACE = 10.0  # seconds until it is killed


@dataclass(frozen=True, slots=True)
class Serving:
    """A running policyd: the URL for the API server, its authority, the URL of its metrics."""

    url: str
    authority: bytes
    metrics: str


@contextmanager
def serving(
    documents: Sequence[JSONObject], address: Address, version: KubernetesVersion
) -> Iterator[Serving]:
    """Serve documents at an address, with a certificate made for it. Raises ConfigError if the
    server ends.
    """
    # Imported here because few commands need it.
    from policyd.tls.issuing import self_signed

    with tempfile.TemporaryDirectory(prefix="policyd-crossover-") as name:
        folder = Path(name)
        pair = self_signed([address.host])
        (folder / "policies").mkdir()
        (folder / "policies" / "policies.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)})
        )
        (folder / "tls.crt").write_bytes(pair.certificate)
        key = folder / "tls.key"
        key.touch(0o600)
        key.write_bytes(pair.key)
        command = [
            sys.executable,
            "-m",
            "policyd",
            "serve",
            f"--policies={folder / 'policies'}",
            f"--bind={address}",
            "--admin-bind=127.0.0.1:0",
            f"--tls-cert={folder / 'tls.crt'}",
            f"--tls-key={key}",
            f"--kubernetes-version={version}",
            "--drain=0s",
        ]
        log = folder / "log"
        with log.open("wb") as stream:
            child = subprocess.Popen(
                command,
                stderr=stream,
                stdout=stream,
                env=_environment(),
                # So that it ends with a run that is killed.
                preexec_fn=partial(die_with, os.getpid(), signal.SIGTERM),  # noqa: PLW1509 - no locks
            )
        try:
            listening = _listening(child, log)
            port = int(listening["reviews"].rpartition(":")[2])  # a free one where 0 was given
            yield Serving(
                f"https://{replace(address, port=port)}",
                pair.certificate,
                f"{listening['admin']}/metrics",
            )
        finally:
            child.terminate()
            try:
                child.wait(_GRACE)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _environment() -> dict[str, str]:
    """Return the environment without settings of ``policyd serve``."""
    return {key: value for key, value in os.environ.items() if not key.startswith(PREFIX)}


def _listening(child: "subprocess.Popen[bytes]", log: Path) -> dict[str, str]:
    """Wait for the addresses that it listens on."""
    end = time.monotonic() + READY_WITHIN
    while time.monotonic() < end:
        ended = child.poll() is not None
        for line in log.read_text().split("\n")[:-1]:
            if '"listening"' in line:
                found: dict[str, str] = json.loads(line)
                return found
        if ended:
            break
        time.sleep(_PAUSE)
    raise ConfigError(f"policyd does not serve: {log.read_text().strip()[-1000:]}")

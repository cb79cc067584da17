"""The certificate of ``--self-signed``, issued by a process of its own while the server starts:
``cryptography`` takes a tenth of a server's memory.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from policyd.errors import ConfigError
from policyd.tls.pem import KeyPair

NAME = "--self-signed"
# Issuing takes a tenth of a second.
SECONDS = 60.0


class SelfSigned:
    """A pair that is being issued; ``read`` waits for it."""

    name = NAME
    files: tuple[Path, ...] = ()

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._pair: KeyPair | None = None
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "policyd.tls.issuing", "--self-signed", *names],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise ConfigError(f"{NAME}: cannot issue a certificate: {error.strerror}") from None

    def read(self) -> KeyPair:
        """Return the pair; raises ConfigError if it could not be issued."""
        if self._pair is None:
            self._pair = self._issued()
        return self._pair

    def _issued(self) -> KeyPair:
        try:
            answer, said = self._process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            message = f"{NAME}: no certificate was issued in {SECONDS:.0f} s"
            raise ConfigError(message) from None
        if self._process.returncode:
            last = said.decode(errors="replace").strip().rpartition("\n")[2]
            status = self._process.returncode
            raise ConfigError(f"{NAME}: cannot issue a certificate: status {status}: {last}")
        certificate, key = json.loads(answer)["leaf"]
        return KeyPair(certificate.encode(), key.encode())

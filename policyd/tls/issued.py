"""Issues certificates in a separate process, because ``cryptography`` takes a tenth of a server's
memory.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from policyd.errors import ConfigError, PolicydError
from policyd.tls.pem import KeyPair

# Issuing takes a tenth of a second.
SECONDS = 60.0
NAME = "--self-signed"


class IssuingError(PolicydError):
    """The process that issues certificates failed."""


class IssuedPairs(NamedTuple):
    """The issued certificates and keys; the CA only if it is new."""

    authority: KeyPair | None
    leaf: KeyPair | None


def issue(
    now: float, lifetime: float, names: tuple[str, ...], authority: KeyPair | None
) -> IssuedPairs:
    """Issue a leaf for ``names``, if there are any, with a new CA if none is given. Waits for the
    process. Raises IssuingError.
    """
    signer = None if authority is None else [part.decode() for part in authority]
    order = {"now": now, "lifetime": lifetime, "names": names, "authority": signer}
    try:
        return _Issuing().result(json.dumps(order).encode())
    except IssuingError as error:
        raise IssuingError(f"cannot issue certificates: {error}") from None


class SelfSigned:
    """A pair that is being issued while the server starts; ``read`` waits for it."""

    name = NAME
    files: tuple[Path, ...] = ()

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._pair: KeyPair | None = None
        try:
            self._issuing = _Issuing(NAME, *names)
        except IssuingError as error:
            raise ConfigError(f"{NAME}: cannot issue a certificate: {error}") from None

    def read(self) -> KeyPair | None:
        """Return the pair; raises ConfigError if it could not be issued."""
        if self._pair is None:
            try:
                self._pair = self._issuing.result().leaf
            except IssuingError as error:
                raise ConfigError(f"{NAME}: cannot issue a certificate: {error}") from None
        return self._pair


class _Issuing:
    """A running ``policyd.tls.issuing`` with these arguments. Raises IssuingError."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-P", "-m", "policyd.tls.issuing", *arguments]
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            raise IssuingError(error.strerror or repr(error)) from None

    def result(self, order: bytes = b"") -> IssuedPairs:
        """Return the issued pairs."""
        try:
            answer, said = self._process.communicate(order, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise IssuingError(f"nothing was issued in {SECONDS:.0f} s") from None
        if self._process.returncode:
            last = said.decode(errors="replace").strip().rpartition("\n")[2]
            raise IssuingError(f"status {self._process.returncode}: {last}")
        issued = json.loads(answer)
        return IssuedPairs(*(_pair(issued[each]) for each in IssuedPairs._fields))


def _pair(strings: list[str] | None) -> KeyPair | None:
    return None if strings is None else KeyPair(strings[0].encode(), strings[1].encode())

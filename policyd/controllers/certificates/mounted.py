"""The caBundle for a mounted certificate: ca.crt beside it, as cert-manager and others write it.

Without it the caBundle belongs to somebody else, such as cainjector.
"""

from collections.abc import Callable
from pathlib import Path
from time import monotonic

from policyd.controllers.certificates.material import certificates
from policyd.errors import ConfigError
from policyd.observability.logs import Log
from policyd.tls.pem import KeyPair
from policyd.tls.sources import read_file
from policyd.tls.verifying import refusal

# A replaced authority stays in the bundle for this long: kubelets update the mounted files of
# replicas within some two minutes.
OVERLAP_SECONDS = 300.0


class MountedBundle:
    """The authorities of the certificate in a file."""

    def __init__(self, cert: Path, log: Log, clock: Callable[[], float] = monotonic) -> None:
        self._file = cert.parent / "ca.crt"
        self._log = log
        self._clock = clock
        self._current: tuple[bytes, ...] = ()
        self._former: dict[bytes, float] = {}  # until when each is kept
        self._warned = ""

    def bundle(self, pair: KeyPair) -> bytes:
        """The bundle for what is served; empty if there is none that verifies it."""
        found = self._read(pair)
        now = self._clock()
        for each in self._current:
            if each not in found:
                self._former.setdefault(each, now + OVERLAP_SECONDS)
        self._current = found
        self._former = {
            each: until for each, until in self._former.items() if until > now and each not in found
        }
        return b"".join([*found, *self._former]) if found else b""

    def _read(self, pair: KeyPair) -> tuple[bytes, ...]:
        if not self._file.exists():
            return ()
        try:
            found = certificates(read_file(self._file, "CA"))
            problem = refusal(b"".join(found), pair, ())
        except (ConfigError, ValueError) as error:
            found, problem = (), str(error)
        if problem and problem != self._warned:
            message = f"{self._file} does not verify the certificate beside it: {problem}"
            self._log.write("warning", "certificate", f"{message}; it is not registered")
        self._warned = problem
        return () if problem else found

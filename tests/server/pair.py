"""One certificate for all servers of a run: ``--self-signed`` takes a process for each. No tests here."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from policyd.tls.issuing import self_signed


@cache
def files() -> tuple[str, str]:
    """The files of the certificate and its key."""
    folder = Path(tempfile.mkdtemp(prefix="policyd-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    names = (folder / "tls.crt", folder / "tls.key")
    for name, content in zip(names, self_signed(), strict=True):
        name.write_bytes(content)
    return str(names[0]), str(names[1])


def flags() -> list[str]:
    """The flags with which servers use it."""
    certificate, key = files()
    return ["--tls-cert", certificate, "--tls-key", key]

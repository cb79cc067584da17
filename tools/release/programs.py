"""The programs that a release needs, of the versions and hashes in tools/supply/release.lock."""

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

from tools.release.settings import BUILD, LOCK

_ENVIRONMENT = BUILD / "programs"


def installed() -> Path:
    """The folder of the programs; installs them if the lock changed."""
    mark = _ENVIRONMENT / "lock"
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if not mark.exists() or mark.read_text() != digest:
        print(f"installing {LOCK.name} below {BUILD}", flush=True)
        venv.create(_ENVIRONMENT, clear=True)
        pip = [sys.executable, "-m", "pip", "--python", str(_ENVIRONMENT / "bin/python")]
        command = [*pip, "install", "-q", "--no-deps", "--require-hashes", "-r", str(LOCK)]
        if subprocess.run(command, check=False).returncode:
            raise SystemExit(f"{LOCK.name} cannot be installed; pip's messages are above")
        mark.write_text(digest)
    return _ENVIRONMENT / "bin"


def checked(done: subprocess.CompletedProcess[str]) -> str:
    """What a program printed; raises SystemExit with its last lines if it failed."""
    if done.returncode:
        raise SystemExit(f"{done.args} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout

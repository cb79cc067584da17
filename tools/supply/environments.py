"""Environments for scanners, apart from .venv: made once, below build/supply. Scans nothing."""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "supply"
# Exact, so that a scan gives the same result tomorrow.
PACKAGES = {
    "sslyze": "sslyze==6.3.1",
    "pip-audit": "pip-audit==2.10.1",
    "pyspdxtools": "spdx-tools==0.8.5",
}


def program(name: str) -> Path:
    """Where the program of a scanner is, or would be."""
    return BUILD / name / "bin" / name


def installed(name: str) -> Path:
    """The program of a scanner; installs it if it is not there. Raises SystemExit if it cannot."""
    found = program(name)
    if not found.exists():
        print(f"installing {PACKAGES[name]} below {BUILD}", file=sys.stderr)
        venv.create(BUILD / name, with_pip=True, clear=True)
        python = BUILD / name / "bin" / "python"
        command = [str(python), "-m", "pip", "install", "-q", PACKAGES[name]]
        if subprocess.run(command, check=False).returncode:
            raise SystemExit(f"{PACKAGES[name]} cannot be installed; pip's messages are above")
    return found

"""What a release consists of, and where the parts are. No steps here."""

import os
import subprocess
from dataclasses import dataclass

from tools.image.settings import ROOT
from tools.supply import locks

BUILD = ROOT / "build" / "release"
DIST = ROOT / "dist"
LOCK = locks.RELEASE
GLIBC = "2.28"  # of RHEL 8, Debian 10 and newer; the tag of a wheel is manylinux_2_28
LARGEST = 12_000_000  # bytes of a wheel

# The release of Debian whose libpython3.X-dev has the headers of a Python; None of them has 3.12.
SUITES = {"3.11": "bookworm", "3.12": None, "3.13": "trixie", "3.14": "forky"}
# Machines, as wheels name them and as Debian does.
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Target:
    """A Python and a machine that a wheel is for."""

    python: str
    machine: str

    @property
    def tag(self) -> str:
        """The tag of its wheel, without the platform: ``cp313``."""
        return f"cp{self.python.replace('.', '')}"

    @property
    def platform(self) -> str:
        """The platform tag of its wheel."""
        return f"manylinux_{GLIBC.replace('.', '_')}_{self.machine}"

    @property
    def suffix(self) -> str:
        """What the file name of an extension module ends with."""
        return f".cpython-{self.python.replace('.', '')}-{self.machine}-linux-gnu.so"

    @property
    def triple(self) -> str:
        """The target of the compiler."""
        return f"{self.machine}-linux-gnu.{GLIBC}"

    def __str__(self) -> str:
        return f"{self.python}-{self.machine}"


def targets() -> list[Target]:
    """Every Python on every machine."""
    return [Target(python, machine) for python in SUITES for machine in MACHINES]


def epoch() -> int:
    """The time of every file of a release: SOURCE_DATE_EPOCH, or that of the commit."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    command = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit("this tree has no commit: set SOURCE_DATE_EPOCH to the time of the files")
    return int(done.stdout)

"""What a release consists of, and where the parts are. No steps here."""

from dataclasses import dataclass

from tools.image.settings import ROOT
from tools.supply import locks

BUILD = ROOT / "build" / "release"
DIST = ROOT / "dist"
LOCK = locks.RELEASE
GLIBC = "2.28"  # of RHEL 8, Debian 10 and newer; the tag of a wheel is manylinux_2_28
LARGEST = 12_000_000  # bytes of a wheel

MAVEN = "maven"
# The release of Debian that has a Python. None has 3.12: it is a package in Maven's repository.
SUITES = {"3.11": "bookworm", "3.12": MAVEN, "3.13": "trixie", "3.14": "forky"}
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

"""Build the wheel and try it with every supported Python that is here; list those that are missing.

    make matrix
    make matrix DEBIAN=DIR     and the Pythons of a Debian in this folder, as root

Debian 12 has Python 3.11 only. A folder with newer ones:

    apt-get install debootstrap
    debootstrap --variant=minbase --include=gcc,libc6-dev,ca-certificates,python3.13-venv,\\
        python3.13-dev,python3.14-venv,python3.14-dev testing DIR

Each is tried by all suites of the policies of the library, and by a server that answers a review,
with warnings as errors. The exit status is 1 if one of them fails.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.image import sources
from tools.supply.environments import BUILD, ROOT

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
_INSIDE = Path("/tmp/policyd-matrix")  # noqa: S108 - of a folder that is a system of its own
_TRIAL = Path(__file__).with_name("trial.py")


@dataclass(frozen=True, slots=True)
class Place:
    """Where Pythons are: this system, or a Debian below ``root``."""

    root: Path | None

    @property
    def work(self) -> Path:
        """A folder to work in, as this system names it."""
        if self.root is None:
            return BUILD / "matrix"
        return self.root / _INSIDE.relative_to("/")

    def named(self, path: Path) -> str:
        """A path below ``work``, as the place itself names it."""
        inner = self.work if self.root is None else _INSIDE
        return str(inner / path.relative_to(self.work))

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a program of the place."""
        words = [self.named(each) if isinstance(each, Path) else each for each in command]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        if self.root is not None:
            words = ["chroot", str(self.root), *words]
            environment |= {"PATH": "/usr/sbin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)

    def has(self, version: str) -> bool:
        """Whether it has this Python, and not only a shim of pyenv for it."""
        return self.run("sh", "-c", f"python{version} -c ''").returncode == 0


def main() -> None:
    """Try every Python, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m tools.supply.matrix")
    parser.add_argument("--root", type=Path, help="a Debian with more Pythons")
    root = parser.parse_args().root
    places = [Place(None), *([Place(root.resolve())] if root else [])]
    failed, tried = False, 0
    for version in VERSIONS:
        place = next((each for each in places if each.has(version)), None)
        if place is None:
            print(f"Python {version}: missing, not tried", flush=True)
            continue
        problem = trial(place, version)
        failed, tried = failed or bool(problem), tried + 1
        print(f"Python {version}: {problem or 'works'}", flush=True)
    sys.exit(failed or not tried)


def trial(place: Place, version: str) -> str:
    """Build the wheel, install it and try it; what went wrong, else an empty string."""
    for step, command in _steps(place, version):
        done = place.run(*command)
        if done.returncode:
            return f"{step} failed\n{(done.stdout + done.stderr)[-2000:]}"
    return ""


def _steps(place: Place, version: str) -> Iterator[tuple[str, tuple[str | Path, ...]]]:
    work = place.work
    source, environment, wheels = work / "source", work / version, work / f"wheels-{version}"
    sources.copy(source)
    shutil.rmtree(wheels, ignore_errors=True)
    shutil.copy(_TRIAL, work / _TRIAL.name)
    shutil.rmtree(work / "policies", ignore_errors=True)
    shutil.copytree(ROOT / "policies", work / "policies", symlinks=True)
    python, pip = (
        environment / "bin/python",
        (environment / "bin/python", "-m", "pip", "install", "-q"),
    )
    yield "venv", (f"python{version}", "-m", "venv", "--clear", environment)
    yield "the compiler", (*pip, "setuptools>=77", "Cython>=3.3,<3.4", "wheel")
    script = 'cd "$1" && "$2" setup.py -q build_ext -j"$(nproc)" bdist_wheel -d "$3"'
    yield "the build", ("sh", "-c", script, "sh", source, python, wheels)
    yield (
        "the installation",
        ("sh", "-c", '"$1" -m pip install -q "$2"/*.whl', "sh", python, wheels),
    )
    yield "the trial", (python, "-W", "error", work / _TRIAL.name, work / "policies")


if __name__ == "__main__":
    main()

"""Try the wheels in dist/ where people install them: as root, on Debian 12.

    make release-trials                every trial
    python -m tools.release.trials venv bookworm-x86_64

``venv``: pip installs from a static index on this machine into a new environment, with no compiler
in PATH. ``SUITE-x86_64``: so does the Python of a minimal Debian, which debootstrap makes, and a
server then denies a Pod; ``noble-x86_64`` is the same with Ubuntu 24.04. ``SUITE-aarch64``: the
wheel runs on the Python of Debian for ARM under QEMU: a server, all suites of the policy library,
and the conformance rows. ``maven-MACHINE``: the same with the Python that Debian does not have.
``reproducible``: see ``elsewhere``.

A sample of the rows is tried unless ``POLICYD_SAMPLE=1``. Limits are of processor time, so that a
busy machine fails no trial.
"""

import argparse
import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from policyd.tls.issuing import self_signed
from tools.image import debian, settings, wheels
from tools.release import elsewhere, index, maven, suites
from tools.release.programs import checked
from tools.release.settings import BUILD, DIST, MACHINES, MAVEN, SUITES, Target
from tools.supply import trial
from tools.supply.matrix import Place

INSTALL_SECONDS, DENIAL_SECONDS = 20.0, 60.0
# What the conformance tests import. Their plugins, too: pyproject.toml names them.
_TESTS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "PyYAML")
# Rows that are not kept in the tree, where the tests look for them.
_ROWS = settings.ROOT.parent / "shared/conformance"
# Of debootstrap, for every release: Debian 12 does not know the newer ones by name.
_SCRIPTS = Path("/usr/share/debootstrap/scripts")
# What runs the Python that Debian does not have.
_BASE = "bookworm"
# Ubuntu 24.04, with Python 3.12; a package of Debian has the keys of Ubuntu.
_UBUNTU = "noble"
_LIBRARIES = ("libbz2-1.0", "libcrypt1", "libuuid1", "zlib1g")
_QEMU = "usr/bin/qemu-aarch64-static"
# Newer releases of Debian sign return addresses: by the cipher of Arm, QEMU is six times as slow.
_CPU = "max,pauth-impdef=on"
_SITE = "opt/site"


def main() -> None:
    """Run the trials that are named, or all; the exit status is 1 if one of them failed."""
    known: dict[str, Callable[[], None]] = {"venv": in_venv}
    for python, suite in SUITES.items():
        known[f"{suite}-x86_64"] = partial(in_debian, Target(python, "x86_64"), suite)
        known[f"{suite}-aarch64"] = partial(in_qemu, Target(python, "aarch64"), suite)
    known[f"{_UBUNTU}-x86_64"] = partial(in_debian, Target("3.12", "x86_64"), _UBUNTU)
    known["reproducible"] = reproducible
    parser = argparse.ArgumentParser(prog="python -m tools.release.trials")
    parser.add_argument("trials", nargs="*", help=f"of {', '.join(known)}; default: all")
    names = parser.parse_args().trials or list(known)
    if unknown := [each for each in names if each not in known]:
        parser.error(f"unknown trial {unknown[0]}; expected {', '.join(known)}")
    failed = False
    for name in names:
        try:
            known[name]()
        except SystemExit as problem:
            failed = True
            print(f"{name}: failed: {problem}", flush=True)
    sys.exit(failed)


def wheel(target: Target) -> Path:
    """The wheel in dist/ for a target."""
    found = [*DIST.glob(f"*-{target.tag}-{target.tag}-{target.platform}.whl")]
    if len(found) != 1:
        raise SystemExit(f"dist/ has no wheel for {target}: run make release")
    return found[0]


@contextmanager
def timed(name: str, limit: float) -> Iterator[None]:
    """Print how long it took; raise SystemExit if it took more processor time than the limit."""
    began, before = time.monotonic(), _processor()
    yield
    took = _processor() - before
    print(f"{name}: {time.monotonic() - began:.1f} s, {took:.1f} s of processor time", flush=True)
    if took > limit:
        raise SystemExit(f"it took {took:.1f} s of processor time; the limit is {limit:g} s")


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def served(target: Target) -> Iterator[str]:
    """An index with the wheel and all that it requires; the options of pip for it."""
    own = wheel(target)
    with tempfile.TemporaryDirectory(prefix="policyd-index-") as scratch:
        others = Path(scratch, "wheels")
        wheels.pip(["download", "-q", "-d", others], target.machine, [str(own)], target.python)
        index.write(Path(scratch), index.distributions(others))
        with index.served(Path(scratch)) as address:
            yield address


def in_venv() -> None:
    """Install into a new environment of this Python."""
    target = _here()
    with served(target) as address, tempfile.TemporaryDirectory(prefix="policyd-venv-") as scratch:
        folder = Path(scratch)
        venv.create(folder, with_pip=True)
        bare = {
            "PATH": str(folder / "bin"),
            "PIP_INDEX_URL": address,
            "PIP_CONFIG_FILE": os.devnull,
        }
        with timed("venv: installed without a compiler", INSTALL_SECONDS):
            command = [str(folder / "bin/python"), "-m", "pip", "install", "-q", "policyd"]
            checked(subprocess.run(command, env=bare, capture_output=True, text=True, check=False))
        trial.denies([str(folder / "bin/policyd")], str(settings.ROOT / "policies/pod-security"))


def in_debian(target: Target, suite: str) -> None:
    """Install on a minimal Debian or Ubuntu, and deny a Pod."""
    if shutil.which("debootstrap") is None:
        debian.apt(["--yes", "--no-install-recommends", "install", "debootstrap"], Path("/"))
    with _scratch(suite) as root, served(target) as address:
        _bootstrap(suite, root)
        place = Place(root)
        apt = ["apt-get", "install", "-q", "--yes", "--no-install-recommends"]
        packages = _LIBRARIES if suite == MAVEN else (f"python{target.python}-venv",)
        checked(place.run(*apt, *packages))
        if place.run("sh", "-c", "command -v cc || command -v gcc").returncode == 0:
            raise SystemExit(f"{suite} has a compiler")
        environment = place.work / "venv"
        _policies(place)
        shutil.copy(trial.__file__, place.work)
        python = environment / "bin/python"
        install = ["-m", "pip", "install", "-q", "--index-url", address, "policyd"]
        with timed(f"{suite}-x86_64: installed, suites passed, a Pod denied", DENIAL_SECONDS):
            checked(place.run(_python(root, target, suite), "-m", "venv", environment))
            checked(place.run(python, *install))
            checked(place.run(python, place.work / "trial.py", place.work / "policies"))


def _bootstrap(suite: str, root: Path) -> None:
    """Make the minimal system of a suite."""
    command = ["debootstrap", "--variant=minbase", "--force-check-gpg"]
    with _scratch("keys") as keys:
        if suite == _UBUNTU:
            archives = suites.download("trixie", "amd64", "ubuntu-keyring")
            debian.unpack_all(archives, keys)
            keyring = keys / "usr/share/keyrings/ubuntu-archive-keyring.gpg"
            command += [f"--keyring={keyring}", "--components=main,universe"]
            mirror, script = "http://archive.ubuntu.com/ubuntu", _SCRIPTS / "gutsy"
        else:
            mirror, script = suites.mirror(), _SCRIPTS / "sid"
        command += [_release(suite), str(root), mirror, str(script)]
        checked(subprocess.run(command, capture_output=True, text=True, check=False))


def in_qemu(target: Target, suite: str) -> None:
    """Run on another machine's Python, under QEMU's user emulation."""
    packages = _LIBRARIES if suite == MAVEN else (f"python{target.python}",)
    archives = suites.download_all(
        _release(suite), MACHINES[target.machine], *packages, "libstdc++6"
    )
    (emulator,) = suites.download("bookworm", "amd64", "qemu-user-static")
    with _scratch("qemu") as root, _scratch("emulator") as other:
        debian.unpack_all(archives, root)
        debian.unpack_all([emulator], other)
        shutil.copy(other / _QEMU, root / _QEMU)
        wheels.pip(
            ["install", "-q", "--target", root / _SITE],
            target.machine,
            [str(wheel(target)), *_TESTS],
            target.python,
        )
        (root / "tmp").mkdir(mode=0o1777)
        (root / "dev").mkdir(exist_ok=True)
        os.mknod(root / "dev/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))  # for pytest
        place = Place(root)
        _policies(place)
        shutil.copytree(settings.ROOT / "tests", place.work / "tests")
        shutil.copy(settings.ROOT / "pyproject.toml", place.work)
        if _ROWS.exists():
            shutil.copytree(_ROWS, place.work.parent / "shared/conformance")
        folders = f"PYTHONPATH=/{_SITE}:{place.named(place.work)}"
        python = [f"/{_QEMU}", "-cpu", _CPU, "-E", folders, _python(root, target, suite), "-m"]
        policies = place.named(place.work / "policies/pod-security")
        with timed(f"{suite}-aarch64: a Pod denied", float("inf")):
            trial.denies(["chroot", str(root), *python, "policyd"], policies, _certificate(place))
        rows = ["-q", "-p", "no:cacheprovider", "-c", place.named(place.work / "pyproject.toml")]
        with timed(f"{suite}-aarch64: conformance rows", float("inf")):
            done = place.run(*python, "pytest", *rows, place.work / "tests/conformance")
            print(checked(done), flush=True)  # how many rows of each kind, and what is left out
        with timed(f"{suite}-aarch64: suites passed", float("inf")):
            checked(place.run(*python, "policyd", "test", place.work / "policies"))


def reproducible() -> None:
    """Build what has to have the same bytes again."""
    with timed("reproducible: built again", float("inf")):
        files = elsewhere.compare()
    print(f"reproducible: the same bytes in {', '.join(files)}", flush=True)


def _here() -> Target:
    """This Python and machine."""
    return Target(f"{sys.version_info.major}.{sys.version_info.minor}", os.uname().machine)


def _release(suite: str) -> str:
    """The release of Debian for a trial."""
    return _BASE if suite == MAVEN else suite


def _python(root: Path, target: Target, suite: str) -> str:
    """The Python of a system, as that names it; what apt does not have is copied below ``root``."""
    if suite != MAVEN:
        return f"/usr/bin/python{target.python}"
    unpacked = maven.unpacked(target.machine)
    shutil.copytree(unpacked, root / "opt/python")
    for library in unpacked.glob("*.so.*"):  # the loader finds no other place without /proc
        shutil.copy(library, root / "usr/lib")
    return f"/opt/python/bin/python{target.python}"


def _policies(place: Place) -> None:
    shutil.copytree(settings.ROOT / "policies", place.work / "policies", symlinks=True)


def _certificate(place: Place) -> list[str]:
    """The options for a certificate. The server cannot issue one: QEMU starts no other program."""
    options = []
    for option, data in zip(("--tls-cert", "--tls-key"), self_signed(), strict=True):
        file = place.work / option
        file.write_bytes(data)
        options += [option, place.named(file)]
    return options


@contextmanager
def _scratch(name: str) -> Iterator[Path]:
    """A folder for the files of another system."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=BUILD) as scratch:
        yield Path(scratch)


if __name__ == "__main__":
    main()

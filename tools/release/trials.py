"""Try the wheels in dist/ where people install them: as root, on Debian 12.

    make release-trials                every trial
    python -m tools.release.trials venv bookworm-x86_64

``venv``: pip installs from a static index on this machine into a new environment, with no compiler
in PATH. ``SUITE-x86_64``: so does the Python of a minimal Debian, which debootstrap makes, and a
server then denies a Pod. ``noble-x86_64``: the same on Ubuntu 24.04, if ``POLICYD_UBUNTU`` is the
address of its archive. ``SUITE-aarch64``: the wheel runs on the Python of Debian for ARM under
QEMU: a server, all suites of the policy library, and the conformance rows. ``reproducible``: a
copy of the tree gives the same bytes to another user in another directory, on one core.

A sample of the rows is tried unless ``POLICYD_SAMPLE=1``. Limits are of processor time, so that a
busy machine fails no trial.
"""

import argparse
import os
import pwd
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
from tools import tree
from tools.image import debian, settings, wheels
from tools.release import index, suites
from tools.release.settings import BUILD, DIST, MACHINES, SUITES, Target, epoch
from tools.supply import trial
from tools.supply.matrix import Place

INSTALL_SECONDS, DENIAL_SECONDS = 20.0, 60.0
# What the conformance tests import. Their plugins, too: pyproject.toml names them.
_TESTS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "PyYAML")
# Rows that are not kept in the tree, where the tests look for them.
_ROWS = settings.ROOT.parent / "shared/conformance"
# The scripts of debootstrap for every release: Debian 12 does not know the newer ones by name.
_DEBIAN, _UBUNTU = "sid", "gutsy"
_QEMU = "usr/bin/qemu-aarch64-static"
_SITE = "opt/site"


def main() -> None:
    """Run the trials that are named, or all; the exit status is 1 if one of them failed."""
    known: dict[str, Callable[[], None]] = {"venv": in_venv}
    for python, suite in SUITES.items():
        if suite:
            known[f"{suite}-x86_64"] = partial(in_debian, Target(python, "x86_64"), suite)
            known[f"{suite}-aarch64"] = partial(in_qemu, Target(python, "aarch64"), suite)
    if ubuntu := os.environ.get("POLICYD_UBUNTU"):
        known["noble-x86_64"] = partial(in_ubuntu, Target("3.12", "x86_64"), "noble", ubuntu)
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
            _checked(subprocess.run(command, env=bare, capture_output=True, text=True, check=False))
        trial.denies([str(folder / "bin/policyd")], str(settings.ROOT / "policies/pod-security"))


def in_debian(target: Target, suite: str) -> None:
    """Install on a minimal Debian, and deny a Pod."""
    _in_minimal(target, suite, suites.mirror(), _DEBIAN)


def in_ubuntu(target: Target, suite: str, mirror: str) -> None:
    """Install on a minimal Ubuntu, and deny a Pod. Its keys are in a package of Debian."""
    (archive,) = suites.download("trixie", "amd64", "ubuntu-archive-keyring")
    with _scratch("keyring") as root:
        debian.unpack_all([archive], root)
        keyring = root / "usr/share/keyrings/ubuntu-archive-keyring.gpg"
        _in_minimal(
            target, suite, mirror, _UBUNTU, f"--keyring={keyring}", "--components=main,universe"
        )


def _in_minimal(target: Target, suite: str, mirror: str, script: str, *options: str) -> None:
    if shutil.which("debootstrap") is None:
        debian.apt(["--yes", "--no-install-recommends", "install", "debootstrap"], Path("/"))
    with _scratch(suite) as root, served(target) as address:
        made = ["debootstrap", "--variant=minbase", "--force-check-gpg", *options]
        command = [*made, suite, str(root), mirror, f"/usr/share/debootstrap/scripts/{script}"]
        _checked(subprocess.run(command, capture_output=True, text=True, check=False))
        place = Place(root)
        apt = ["apt-get", "install", "-q", "--yes", "--no-install-recommends"]
        _checked(place.run(*apt, f"python{target.python}-venv"))
        if place.run("sh", "-c", "command -v cc || command -v gcc").returncode == 0:
            raise SystemExit(f"{suite} has a compiler")
        environment = place.work / "venv"
        _policies(place)
        shutil.copy(trial.__file__, place.work)
        python = environment / "bin/python"
        install = ["-m", "pip", "install", "-q", "--index-url", address, "policyd"]
        with timed(f"{suite}-x86_64: installed, suites passed, a Pod denied", DENIAL_SECONDS):
            _checked(place.run(f"python{target.python}", "-m", "venv", environment))
            _checked(place.run(python, *install))
            _checked(place.run(python, place.work / "trial.py", place.work / "policies"))


def in_qemu(target: Target, suite: str) -> None:
    """Run on another machine's Python, under QEMU's user emulation."""
    archives = suites.download_all(
        suite, MACHINES[target.machine], f"python{target.python}", "libstdc++6"
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
        python = [f"/{_QEMU}", "-E", folders, f"/usr/bin/python{target.python}", "-m"]
        policies = place.named(place.work / "policies/pod-security")
        with timed(f"{suite}-aarch64: a Pod denied", float("inf")):
            trial.denies(["chroot", str(root), *python, "policyd"], policies, _certificate(place))
        rows = ["-q", "-p", "no:cacheprovider", "-c", place.named(place.work / "pyproject.toml")]
        with timed(f"{suite}-aarch64: conformance rows", float("inf")):
            done = place.run(*python, "pytest", *rows, place.work / "tests/conformance")
            print(f"{suite}-aarch64: {_checked(done).strip().splitlines()[-1]}", flush=True)
        with timed(f"{suite}-aarch64: suites passed", float("inf")):
            _checked(place.run(*python, "policyd", "test", place.work / "policies"))


def reproducible() -> None:
    """Build a wheel again from a copy of the tree, with nothing that was kept: as another user, in
    another directory, with another umask, time zone, age of files and number of cores.
    """
    target, user = _here(), pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(prefix="policyd-elsewhere-") as scratch:
        copy = Path(scratch, "tree")
        for name in tree.files():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(settings.ROOT / name, copy / name)
        for each in (Path(scratch), *Path(scratch).rglob("*")):
            os.utime(each, (86_400, 86_400))
            os.chown(each, user.pw_uid, user.pw_gid)
        environment = os.environ | {
            "SOURCE_DATE_EPOCH": str(epoch()),
            "HOME": scratch,
            "TZ": "Asia/Kathmandu",
        }
        for name in ("MAKEFLAGS", "MAKEOVERRIDES"):
            environment.pop(name, None)
        command = ["make", "-C", str(copy), "release", f"OPTIONS=--only {target}"]
        with timed("reproducible: built again", float("inf")):
            _checked(
                subprocess.run(
                    ["taskset", "--cpu-list", "0", *command],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                    user=user.pw_uid,
                    group=user.pw_gid,
                    extra_groups=(),
                    umask=0o077,
                )
            )
        for file in (wheel(target), *DIST.glob("*.tar.gz")):
            if file.read_bytes() != (copy / "dist" / file.name).read_bytes():
                raise SystemExit(f"{file.name} has other bytes when it is built elsewhere")


def _here() -> Target:
    """This Python and machine."""
    return Target(f"{sys.version_info.major}.{sys.version_info.minor}", os.uname().machine)


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


def _checked(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode:
        raise SystemExit(f"{done.args} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


if __name__ == "__main__":
    main()

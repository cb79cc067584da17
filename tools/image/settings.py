"""What the image is made of, and where the parts are. No steps here."""

import os
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policyd import __version__

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "image"
# Where `make release` puts its wheels.
WHEELS = ROOT / "dist"
LOCK = Path(__file__).with_name("requirements.lock")
PYTHON = "3.11"


@dataclass(frozen=True, slots=True)
class Platform:
    """What one kind of machine is called."""

    architecture: str  # by Debian and OCI
    machine: str  # by the names of wheels


AMD64 = Platform("amd64", "x86_64")
ARM64 = Platform("arm64", "aarch64")
PLATFORMS = (AMD64, ARM64)

# Python and the libraries of the modules that stay. libstdc++6 is for google-re2.
PACKAGES = (
    "base-files",
    "gcc-12-base",
    "libbz2-1.0",
    "libc6",
    "libexpat1",
    "libffi8",
    "libgcc-s1",
    "liblzma5",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libssl3",
    "libstdc++6",
    "libuuid1",
    "python3.11-minimal",
    "zlib1g",
)
# Below usr/lib/python3.11: modules whose libraries are left out, and what a server has no use for.
UNUSED_MODULES = (
    "__pycache__",
    "curses",
    "dbm",
    "distutils",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "lib-dynload/_crypt.*",
    "lib-dynload/_curses*",
    "lib-dynload/_dbm.*",
    "lib-dynload/_sqlite3.*",
    "lib-dynload/_test*",
    "lib-dynload/_xx*",
    "lib-dynload/nis.*",
    "lib-dynload/ossaudiodev.*",
    "lib-dynload/readline.*",
    "lib-dynload/xx*",
    "pydoc_data",
    "sqlite3",
    "test",
    "tkinter",
    "turtledemo",
    "venv",
)
# Documentation, settings of login shells, and conversions that Python does itself.
UNUSED_FILES = (
    "boot",
    "etc/binfmt.d",
    "etc/default",
    "etc/dpkg",
    "etc/host.conf",
    "etc/issue*",
    "etc/ld.so.conf.d",
    "etc/profile.d",
    "etc/python*",
    "etc/skel",
    "etc/update-motd.d",
    "home",
    "usr/bin/pdb*",
    "usr/bin/py*clean*",
    "usr/bin/pydoc*",
    "usr/bin/pygettext*",
    "usr/games",
    "usr/include",
    "usr/lib/*-linux-gnu/gconv",
    "usr/share/applications",
    "usr/share/base-files",
    "usr/share/binfmts",
    "usr/share/dict",
    "usr/share/gdb",
    "usr/share/info",
    "usr/share/libc-bin",
    "usr/share/lintian",
    "usr/share/man",
    "usr/share/pixmaps",
    "usr/share/python*",
    "usr/src",
    "var/backups",
    "var/cache",
    "var/local",
    "var/mail",
    "var/opt",
    "var/spool",
)


def version() -> str:
    """The version of policyd, of its image and of its chart."""
    return __version__


def epoch() -> int:
    """The time of every file of a release: SOURCE_DATE_EPOCH, the convention of
    reproducible-builds.org, or that of the commit.
    """
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    command = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit("this tree has no commit: set SOURCE_DATE_EPOCH to the time of the files")
    return int(done.stdout)


def dependencies() -> list[str]:
    """What the wheel requires, with the extras ``cluster``, ``otel`` and ``tokens``."""
    extras = _project()["optional-dependencies"]
    more = (each for name in ("cluster", "otel", "tokens") for each in extras[name])
    return [*_project()["dependencies"], *more]


def development() -> list[str]:
    """The same, and what development needs."""
    return [*dependencies(), *_project()["optional-dependencies"]["dev"]]


def release() -> list[str]:
    """What `make release` runs."""
    return list(_project()["optional-dependencies"]["release"])


def _project() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return dict(project)

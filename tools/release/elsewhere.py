"""Build a release again from a copy of the tree, with nothing that was kept, and compare the bytes.

As another user, in another directory, with another umask, time zone, age of files and number of
cores: the wheels of the image, the source distribution, the image, its SBOMs and the plugin.
"""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tools import tree
from tools.image import settings
from tools.release.programs import checked
from tools.release.settings import DIST, MACHINES

_USER = "nobody"
_IMAGE = ["-m", "tools.image", "--plugin", "https://example.com/policyd"]


def compare() -> list[str]:
    """The names of the files that are the same; raises SystemExit if one differs."""
    with tempfile.TemporaryDirectory(prefix="policyd-elsewhere-") as scratch:
        here = Path(scratch, "here")
        command = [sys.executable, *_IMAGE, "--output", str(here)]
        checked(
            subprocess.run(command, cwd=settings.ROOT, capture_output=True, text=True, check=False)
        )
        folder = Path(scratch, "elsewhere")
        copy = _built(folder)
        return [*_compared(copy / "dist", DIST), *_compared(copy / "build/image", here)]


def _built(folder: Path) -> Path:
    """A copy of the tree in a new folder, where a release and its image were built."""
    copy, user = folder / "tree", pwd.getpwnam(_USER)
    for name in tree.files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(settings.ROOT / name, copy / name)
    for each in (folder.parent, folder, *folder.rglob("*")):
        os.utime(each, (86_400, 86_400))
        os.chown(each, user.pw_uid, user.pw_gid)
    environment = os.environ | {
        "SOURCE_DATE_EPOCH": str(settings.epoch()),
        "HOME": str(folder),
        "TZ": "Asia/Kathmandu",
    }
    for name in ("MAKEFLAGS", "MAKEOVERRIDES"):
        environment.pop(name, None)
    only = " ".join(f"--only {settings.PYTHON}-{machine}" for machine in MACHINES)
    for command in (["make", "release", f"OPTIONS={only}"], [".venv/bin/python", *_IMAGE]):
        checked(
            subprocess.run(
                ["taskset", "--cpu-list", "0", *command],
                cwd=copy,
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
    return copy


def _compared(made: Path, expected: Path) -> Iterable[str]:
    """The names of the files that were made; sums are of more files, and the provenance names the
    commit, which a copy has not.
    """
    for file in sorted(made.glob("policyd-*")):
        if file.name.endswith(".provenance.json"):
            continue
        if file.read_bytes() != (expected / file.name).read_bytes():
            raise SystemExit(f"{file.name} has other bytes when it is built elsewhere")
        yield file.name

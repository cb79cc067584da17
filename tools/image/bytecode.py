"""Compile every module by the image's own Python: a start with a read-only root compiles nothing.

Byte code is the same on every architecture: the Python of the image for amd64, which runs here,
compiles for all images.

The files are of the kind ``unchecked-hash``: they do not depend on the times of their sources, and
Python does not read the sources to check them.
"""

import subprocess
from pathlib import Path

from tools.image import settings, tree

_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
_LOADER = "usr/lib64/ld-linux-x86-64.so.2"
# Some wheels carry sources that are not Python of this version: that these fail is no error.
_PROGRAM = """\
import compileall, py_compile, sys
root, *folders = sys.argv[1:]
for folder in folders:
    compileall.compile_dir(
        f"{root}/{folder}", maxlevels=50, stripdir=root, prependdir="/", quiet=2, workers=1,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
"""


def compile_all(python: Path, root: Path, *folders: str) -> int:
    """Compile the modules below some folders of ``root`` by the Python of another root, or of the
    same; how many there are compiled now.
    """
    run(python, "-c", _PROGRAM, str(root), *folders)
    found = sum(1 for folder in folders for _ in (root / folder).rglob("*.pyc"))
    if not found:
        raise SystemExit(f"no module below {', '.join(folders)} could be compiled")
    return found


def run(root: Path, *arguments: str) -> str:
    """What the image's Python prints, run outside of the image with the image's libraries."""
    libraries = ":".join(str(root / each) for each in _LIBRARIES)
    command = [str(root / _LOADER), "--inhibit-cache", "--library-path", libraries]
    command += [str(root / f"usr/bin/python{settings.PYTHON}"), "-B", "-s", *arguments]
    # Sets of constants are in the order of their hashes.
    environment = {"PYTHONHOME": str(root / "usr"), "PYTHONHASHSEED": "0", "PATH": "/usr/bin"}
    environment["PYTHONPATH"] = str(root / tree.PACKAGES)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the image's Python failed:\n{done.stderr}")
    return done.stdout

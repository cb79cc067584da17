"""The headers of each Python: all that compiling for it needs."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from tools.image import debian
from tools.release import maven, suites
from tools.release.settings import BUILD, MACHINES, MAVEN, SUITES, Target


@dataclass(frozen=True, slots=True)
class Headers:
    """The folders with Python.h and pyconfig.h, and the version of what they are from."""

    folders: tuple[Path, ...]
    source: str


def find(target: Target) -> Headers:
    """The headers for a target."""
    suite = SUITES[target.python]
    if suite == MAVEN:
        include = maven.unpacked(target.machine) / "include"
        return Headers((include / f"python{target.python}",), f"cpython {maven.VERSION}")
    name = f"libpython{target.python}-dev"
    (archive,) = suites.download(suite, MACHINES[target.machine], name)
    root = BUILD / "headers" / str(target)
    shutil.rmtree(root, ignore_errors=True)
    (package,) = debian.unpack_all([archive], root)
    include = root / "usr/include"  # pyconfig.h there includes that of the machine
    return Headers((include / f"python{target.python}", include), f"{name} {package.version}")

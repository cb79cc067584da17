"""The headers of each Python, of Debian's packages: all that compiling for it needs."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from tools.image import debian
from tools.release import suites
from tools.release.settings import BUILD, MACHINES, SUITES, Target


@dataclass(frozen=True, slots=True)
class Headers:
    """The folders with Python.h and pyconfig.h, and the version of what they are from."""

    folders: tuple[Path, ...]
    source: str


def find(target: Target, given: dict[str, Path]) -> Headers | None:
    """The headers for a target, or None if Debian has none and none are ``given``."""
    if folder := given.get(target.python):
        return _of_machine(folder, target)
    suite = SUITES[target.python]
    if suite is None:
        return None
    name = f"libpython{target.python}-dev"
    (archive,) = suites.download(suite, MACHINES[target.machine], name)
    root = BUILD / "headers" / str(target)
    shutil.rmtree(root, ignore_errors=True)
    (package,) = debian.unpack_all([archive], root)
    include = root / "usr/include"  # pyconfig.h there includes that of the machine
    return Headers((include / f"python{target.python}", include), f"{name} {package.version}")


def _of_machine(folder: Path, target: Target) -> Headers | None:
    """The headers of a folder, or None if they are of other machines: where Debian and Ubuntu
    install them, pyconfig.h includes that of a machine, which is beside the folder.
    """
    machine = f"{target.machine}-linux-gnu"
    if machine not in (folder / "pyconfig.h").read_text():
        return Headers((folder,), str(folder))
    own = folder.parent / machine / folder.name
    if not own.exists():
        return None
    # Nothing else of the folder beside: it may have the headers of a libc.
    include = BUILD / "headers" / str(target)
    shutil.rmtree(include, ignore_errors=True)
    shutil.copytree(own, include / machine / folder.name)
    return Headers((folder, include), str(folder))


def parse(given: list[str]) -> dict[str, Path]:
    """Read ``3.12=DIR``. Raises SystemExit if it is not the folder of headers of that Python."""
    found = {}
    for each in given:
        python, _, folder = each.partition("=")
        if python not in SUITES:
            raise SystemExit(f"{each}: expected PYTHON=DIR with one of {', '.join(SUITES)}")
        patch = Path(folder, "patchlevel.h")
        wanted = f'PY_VERSION "{python}.'
        texts = [
            file.read_text() if file.exists() else ""
            for file in (patch, patch.with_name("pyconfig.h"))
        ]
        if not texts[1] or wanted not in " ".join(texts[0].split()):
            raise SystemExit(f"{each}: the folder has no Python.h and pyconfig.h of {python}")
        found[python] = Path(folder).absolute()
    return found

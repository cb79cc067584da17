"""What the wheel is made of: a copy of the sources in which unchanged modules stay compiled."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import metadata
from pathlib import Path

from tools.image import settings

_SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in", "policyd")
_GENERATED = ("*.so", "*.c", "*.html", "__pycache__")
_MARK = "compilers"  # the file that says what compiled the modules of a copy


def key() -> str:
    """Of all that the wheel is made of: sources, compilers, Python."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" != settings.PYTHON:
        raise SystemExit(
            f"the image has Python {settings.PYTHON}, and only that can compile the core for it: "
            f"remove .venv and run PYTHON=python{settings.PYTHON} make image"
        )
    digest = hashlib.sha256(_compilers().encode())
    for file in _sources():
        digest.update(f"{file.relative_to(settings.ROOT)}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def copy(target: Path) -> None:
    """Bring a copy in step. What did not change is not written, and not compiled again."""
    mark = target / _MARK
    if not mark.exists() or mark.read_text() != _compilers():
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        mark.write_text(_compilers())
    wanted = {file.relative_to(settings.ROOT): file for file in _sources()}
    for path in sorted(target.rglob("*"), reverse=True):
        relative = path.relative_to(target)
        if path.is_file() and relative not in wanted and not _is_kept(relative):
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    for relative, file in wanted.items():
        made, data = target / relative, file.read_bytes()
        if not made.exists() or made.read_bytes() != data:
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_bytes(data)


def _is_kept(relative: Path) -> bool:
    """C files, compiled modules and their settings, of sources that are still there."""
    if str(relative) == _MARK:
        return True
    if relative.suffix not in {".c", ".so", ".settings"} or relative.parts[0] != "build":
        return False
    _, _, *inside = relative.parts  # build/cython/policyd/…, build/lib.PLATFORM/policyd/…
    source = settings.ROOT.joinpath(*inside)
    name = source.name.partition(".")[0]
    return any(source.with_name(f"{name}{suffix}").exists() for suffix in (".pyx", ".pxd"))


def _compilers() -> str:
    """What compiles, and how: modules of another compiler are not kept."""
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True)
    versions = [f"{name} {metadata.version(name)}" for name in ("Cython", "setuptools")]
    flags = hashlib.sha256((settings.ROOT / "setup.py").read_bytes()).hexdigest()
    return "\n".join([compiler.stdout, *versions, sys.version, flags])


def _sources() -> Iterator[Path]:
    for name in _SOURCES:
        path = settings.ROOT / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            parts = file.relative_to(settings.ROOT).parts
            if file.is_file() and not any(
                fnmatchcase(each, mark) for each in parts for mark in _GENERATED
            ):
                yield file

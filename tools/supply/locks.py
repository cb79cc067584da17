"""Locks: exact versions and hashes of what the image has, of what development and CI install, and
of what `make release` runs.

    python -m tools.supply.locks           write all again, with the newest versions
    python -m tools.supply.locks --check   print what a lock lacks; the exit status is 1 if it does

``tools/build`` installs the lock of development with ``pip --require-hashes``, so that CI tests
today what it tested yesterday, and nothing that somebody published since. All locks have wheels
of Python 3.11 for amd64 and arm64; ``tools/build`` installs without a lock on other Pythons, and
while pyproject.toml asks for what the lock lacks. Imports only what Python has: it runs before
anything is installed.
"""

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.image import settings, wheels

DEVELOPMENT = Path(__file__).with_name("development.lock")
RELEASE = Path(__file__).with_name("release.lock")
_HEADING = "# The versions of {}. Written by: python -m tools.supply.locks"
_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ]+)", re.MULTILINE)
_REQUIRED = re.compile(r"^([A-Za-z0-9._-]+)(\[[^]]*\])?(.*)$")
_BOUND = re.compile(r"(>=|==|<)(\d+(?:\.\d+)*)(\.\*)?")


def main() -> None:
    """Write the locks, or check them."""
    parser = argparse.ArgumentParser(prog="python -m tools.supply.locks")
    parser.add_argument("--check", action="store_true", help="only compare with pyproject.toml")
    if parser.parse_args().check:
        missing = [*problems(settings.LOCK, settings.dependencies())]
        missing += problems(DEVELOPMENT, settings.development())
        missing += problems(RELEASE, settings.release())
        missing += differences()
        print("\n".join(missing) or "the locks agree with pyproject.toml")
        sys.exit(bool(missing))
    settings.LOCK.write_text(wheels.lock(), encoding="utf-8")
    same = [f"{name}=={version}" for name, version in locked(settings.LOCK).items()]
    heading = _HEADING.format("development and CI")
    text = wheels.lock([*settings.development(), "pip"], same, heading)
    DEVELOPMENT.write_text(text, encoding="utf-8")
    write_release()


def write_release() -> None:
    """Write the lock of `make release` again."""
    text = wheels.lock(settings.release(), heading=_HEADING.format("`make release`"))
    RELEASE.write_text(text, encoding="utf-8")


def locked(file: Path) -> dict[str, str]:
    """The versions in a lock, by normalized name."""
    found = _LOCKED.findall(file.read_text(encoding="utf-8"))
    return {_normalized(name): version for name, version in found}


def problems(file: Path, requirements: Iterable[str]) -> Iterable[str]:
    """What a lock lacks of these requirements of pyproject.toml, and versions without a hash."""
    versions = locked(file)
    for requirement in requirements:
        match = _REQUIRED.match(requirement)
        assert match is not None, requirement
        name, bounds = _normalized(match[1]), match[3]
        if name not in versions:
            yield f"{file.name}: {name} is missing"
        elif not fits(versions[name], bounds):
            yield f"{file.name}: {name} is {versions[name]}, and pyproject.toml wants {bounds}"
    entries = file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    for entry in entries:
        if "==" in entry and not re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry):
            yield f"{file.name}: no hash: {entry}"


def differences() -> Iterable[str]:
    """What the two locks have in different versions: CI must test what the image has."""
    development = locked(DEVELOPMENT)
    for name, version in locked(settings.LOCK).items():
        if development.get(name) != version:
            yield f"{DEVELOPMENT.name}: {name} is not {version}, as in {settings.LOCK.name}"


def fits(version: str, bounds: str) -> bool:
    """Whether a version is within bounds such as ``>=3.3,<3.4`` and ``==0.18.*``."""
    numbers = _numbers(version)
    for operator, bound, star in _BOUND.findall(bounds):
        want = _numbers(bound)
        short = numbers[: len(want)]
        padded = (*numbers, *(0,) * max(0, len(want) - len(numbers)))
        if operator == "==" and (short if star else numbers) != want:
            return False
        if operator == ">=" and padded < want:
            return False
        if operator == "<" and padded >= want:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0]))


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main()

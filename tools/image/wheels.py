"""The wheels of the image: policyd's own, and what it depends on, of fixed versions.

policyd's own comes from a folder of wheels (``dist/``), by the architecture in its name:

    policyd-VERSION-cp311-cp311-TAGS_x86_64.whl, policyd-VERSION-cp311-cp311-TAGS_aarch64.whl

TAGS name a platform that the image is part of: manylinux_2_17 to manylinux_2_36, manylinux2014 or
linux. The Python files of a wheel must be those of this tree. What is missing for amd64 is compiled
here; what is missing for arm64 leaves arm64 out of the image.

Wheels that are built or downloaded are kept in ``build/image/wheels``, by what they are made of.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tools.image import settings, sources

_PLATFORMS = {
    machine: [
        *(f"manylinux_2_{minor}_{machine}" for minor in range(36, 16, -1)),
        f"manylinux2014_{machine}",
    ]
    for machine in (each.machine for each in settings.PLATFORMS)
}


def given(folder: Path, platform: settings.Platform) -> Path | None:
    """policyd's wheel for a platform in a folder, if there is one; it must be of this tree."""
    python = f"cp{settings.PYTHON.replace('.', '')}"
    name = f"policyd-{settings.version()}-{python}-{python}-*linux*_{platform.machine}.whl"
    found = [each for each in sorted(folder.glob(name)) if "musllinux" not in each.name]
    if len(found) > 1:
        raise SystemExit(f"{folder} has {len(found)} wheels for {platform.architecture}: keep one")
    for wheel in found:
        with zipfile.ZipFile(wheel) as archive:
            other = [
                each
                for each in archive.namelist()
                if each.startswith("policyd/") and each.endswith(".py")
                if _of_this_tree(each) != archive.read(each)
            ]
        if other:
            raise SystemExit(
                f"{wheel} is not of this tree ({other[0]} differs): build it again, or delete it"
            )
    return found[0] if found else None


def _of_this_tree(name: str) -> bytes | None:
    file = settings.ROOT / name
    return file.read_bytes() if file.is_file() else None


def own(folder: Path) -> Path:
    """policyd's wheel, built from this tree if none of the same sources is there."""
    kept = folder / sources.key()
    if not any(kept.glob("*.whl")):
        source = folder.parent / "source"
        sources.copy(source)
        jobs = len(os.sched_getaffinity(0))
        command = [sys.executable, "setup.py", "-q", "build_ext", f"-j{jobs}"]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "315532800"}  # zip begins in 1980
        for name in ("POLICYD_DEBUG", "POLICYD_TRACE", "POLICYD_COMPILED"):
            environment.pop(name, None)
        log = folder.parent / "wheel.log"
        with log.open("wb") as output:
            done = subprocess.run(
                [*command, "bdist_wheel", "-d", str(kept)],
                cwd=source,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode:
            raise SystemExit(f"policyd's wheel cannot be built: see {log}")
    (wheel,) = kept.glob("*.whl")
    return wheel


def locked(folder: Path, platform: settings.Platform) -> list[Path]:
    """The wheels of requirements.lock, each with the hash that is written there."""
    key = hashlib.sha256(settings.LOCK.read_bytes()).hexdigest()[:16]
    kept = folder / f"{key}-{platform.machine}"
    if not kept.exists():
        partial = kept.with_suffix(".part")
        pip(
            ["download", "-q", "--no-deps", "--require-hashes", "-r", settings.LOCK, "-d", partial],
            platform.machine,
        )
        partial.rename(kept)
    return sorted(kept.glob("*.whl"))


_HEADING = "# The versions of the image. Written by: python -m tools.image lock"


def lock(
    requirements: list[str] | None = None, same: Iterable[str] = (), heading: str = _HEADING
) -> str:
    """The text of requirements.lock, or of a lock for other requirements, with the versions
    ``same``: the newest versions, with hashes for both machines.
    """
    found: dict[str, tuple[str, set[str]]] = {}
    for machine in _PLATFORMS:
        for entry in _resolved(machine, requirements or settings.dependencies(), same):
            name, version = entry["metadata"]["name"], entry["metadata"]["version"]
            _, hashes = found.setdefault(name.lower(), (version, set()))
            hashes.add(entry["download_info"]["archive_info"]["hashes"]["sha256"])
    lines = [heading]
    for name, (version, hashes) in sorted(found.items()):
        marks = "".join(f" \\\n    --hash=sha256:{each}" for each in sorted(hashes))
        lines.append(f"{name}=={version}{marks}")
    return "\n".join(lines) + "\n"


def _resolved(machine: str, requirements: list[str], same: Iterable[str]) -> list[dict[str, Any]]:
    options = ["-q", "--dry-run", "--ignore-installed", "--report", "-", "--target", "none"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write("\n".join(same))
        constraints.flush()
        report = pip(["install", *options, "-c", constraints.name], machine, requirements)
    entries: list[dict[str, Any]] = json.loads(report)["install"]
    return entries


def pip(
    arguments: list[Any],
    machine: str = "x86_64",
    requirements: Sequence[str] = (),
    python: str = settings.PYTHON,
) -> str:
    """pip for the Python of the image or another one, whatever Python runs this."""
    target = ["--only-binary=:all:", "--python-version", python, "--implementation", "cp"]
    target += [f"--platform={each}" for each in _PLATFORMS[machine]]
    command = [sys.executable, "-m", "pip", *map(str, arguments), *target, *requirements]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit("pip failed; its messages are above")
    return done.stdout

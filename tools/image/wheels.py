"""The wheels of the image: policyd's own, built here, and what it depends on, of fixed versions.

Both are kept in ``build/image/wheels``, by what they are made of.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tools.image import settings, sources

_PLATFORMS = {
    machine: [
        *(f"manylinux_2_{minor}_{machine}" for minor in range(36, 16, -1)),
        f"manylinux2014_{machine}",
    ]
    for machine in ("x86_64", "aarch64")
}


def own(folder: Path) -> Path:
    """policyd's wheel, built from this tree if none of the same sources is there."""
    kept = folder / sources.key()
    if not any(kept.glob("*.whl")):
        source = folder.parent / "source"
        sources.copy(source)
        command = [sys.executable, "setup.py", "-q", "build_ext", f"-j{os.cpu_count()}"]
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


def locked(folder: Path) -> list[Path]:
    """The wheels of requirements.lock, each with the hash that is written there."""
    key = hashlib.sha256(settings.LOCK.read_bytes()).hexdigest()[:16]
    kept = folder / key
    if not kept.exists():
        partial = folder / f"{key}.part"
        pip(["download", "-q", "--no-deps", "--require-hashes", "-r", settings.LOCK, "-d", partial])
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

"""The Kubernetes versions that policyd is compared with, and Go programs built for them. No tests
here.

``POLICYD_KUBERNETES`` selects the version of a run (``make e2e K8S=1.36``); the default is the
newest. A Go module of the tests has one ``kubernetes-VERSION.mod`` for each version, all for the
same sources.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

VARIABLE = "POLICYD_KUBERNETES"
# What runs as each version; the newest comes last.
RELEASES = {"1.36": "v1.36.3", "1.37": "v1.37.1"}
NEWEST = list(RELEASES)[-1]
# Pre-releases: `make e2e differential K8S=1.38` compares with them; the default is the last release.
AHEAD = {"1.38": "v1.38.0-beta.0"}
# Kubernetes versions that need a newer Go than the others (1.26).
TOOLCHAINS = {"1.38": "go1.27.3"}
# Go packages that moved: the programs of the tests import the former path.
MOVED = {"1.38": ("github.com/google/cel-go/", "cel.dev/cel-go/")}


class Unavailable(Exception):
    """A program cannot be built on this machine; the message is the reason."""


def chosen() -> str:
    """Return the version of this run; ValueError if policyd is not compared with it."""
    version = os.environ.get(VARIABLE) or NEWEST
    if version not in {**RELEASES, **AHEAD}:
        known = ", ".join([*RELEASES, *AHEAD])
        raise ValueError(f"{VARIABLE}={version}: expected one of {known}")
    return version


def environment(version: str) -> Mapping[str, str]:
    """Return the environment of a run that compares with a version."""
    return {**os.environ, VARIABLE: version}


def build(module: Path, version: str, target: Path, *packages: str, link: str = "") -> None:
    """Build ``packages`` of a Go module with the Kubernetes of ``version`` into ``target``: a folder if it
    ends with a slash, as in ``go build -o``. Go's own cache makes a second build quick.
    """
    with tempfile.TemporaryDirectory() as folder:
        overlay = f"-overlay={moved(module, version, Path(folder))}"
        command = go(module, version, "build", "-trimpath", overlay, "-ldflags", link)
        built = subprocess.run(
            [*command, "-o", f"{target}/" if len(packages) > 1 else str(target), *packages],
            cwd=module,
            env=go_environment(version),
            capture_output=True,
            text=True,
            check=False,
        )
    if built.returncode:
        raise Unavailable(f"{module.name} does not build: {built.stderr.strip()[-300:]}")


def moved(module: Path, version: str, folder: Path) -> Path:
    """Write the sources of a module with the imports of a version to ``folder``; return the file that
    ``go build -overlay`` takes.
    """
    replaced: dict[str, str] = {}
    before, after = MOVED.get(version, ("", ""))
    for source in sorted(module.glob("*.go")) if before else ():
        copy = folder / source.name
        copy.write_text(source.read_text().replace(f'"{before}', f'"{after}'))
        replaced[str(source)] = str(copy)
    table = folder / "overlay.json"
    table.write_text(json.dumps({"Replace": replaced}))
    return table


def go(module: Path, version: str, command: str, *arguments: str) -> Sequence[str]:
    """Return the command line of ``go build`` or ``go run`` for a Kubernetes version."""
    tags = f"kubernetes_{version.replace('.', '_')}"  # for files of some versions
    return [go_command(), command, f"-modfile=kubernetes-{version}.mod", "-tags", tags, *arguments]


def go_command() -> str:
    """Return the path of the go command of this machine."""
    program = shutil.which("go")
    if program is None:
        raise Unavailable("there is no Go on this machine")
    return program


def go_environment(version: str) -> Mapping[str, str]:
    """Return the environment of the go command for a Kubernetes version: with the toolchain that it
    needs, which an older go command downloads from the module proxy.
    """
    toolchain = {"GOTOOLCHAIN": TOOLCHAINS[version]} if version in TOOLCHAINS else {}
    return {**os.environ, **toolchain}

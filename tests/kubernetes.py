"""The Kubernetes versions that policyd is compared with, and Go programs built for them. No tests
here.

``POLICYD_KUBERNETES`` selects the version of a run (``make e2e K8S=1.36``); the default is the
newest. A Go module of the tests has one ``kubernetes-VERSION.mod`` for each version, all for the
same sources.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

VARIABLE = "POLICYD_KUBERNETES"
# What runs as each version; the newest comes last.
RELEASES = {"1.36": "v1.36.3", "1.37": "v1.37.1"}
NEWEST = list(RELEASES)[-1]
# Kubernetes versions that need a newer Go than the others (1.26).
TOOLCHAINS = {"1.38": "go1.27.3"}


class Unavailable(Exception):
    """A program cannot be built on this machine; the message is the reason."""


def chosen() -> str:
    """Return the version of this run; ValueError if policyd is not compared with it."""
    version = os.environ.get(VARIABLE) or NEWEST
    if version not in RELEASES:
        raise ValueError(f"{VARIABLE}={version}: expected one of {', '.join(RELEASES)}")
    return version


def build(module: Path, version: str, target: Path, *packages: str, link: str = "") -> None:
    """Build ``packages`` of a Go module with the Kubernetes of ``version`` into ``target``: a folder if it
    ends with a slash, as in ``go build -o``. Go's own cache makes a second build quick.
    """
    command = go(module, version, "build", "-trimpath", "-ldflags", link)
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


def go(module: Path, version: str, command: str, *arguments: str) -> Sequence[str]:
    """Return the command line of ``go build`` or ``go run`` for a Kubernetes version."""
    return [go_command(), command, f"-modfile=kubernetes-{version}.mod", *arguments]


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

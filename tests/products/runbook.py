"""The commands of docs/migrate/kyverno.md, run as they are printed. No tests here."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.shared import ROOT

PAGE = ROOT / "docs/migrate/kyverno.md"
_STEP = re.compile(r"^## (\d+\. .+)$", re.MULTILINE)
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_BACK = "**Way back.**"


@dataclass(frozen=True, slots=True)
class Step:
    """A numbered section of the page: its commands, and those of the way back."""

    name: str
    commands: Sequence[str]
    way_back: Sequence[str]


def steps() -> list[Step]:
    """The steps of the page, in order."""
    _, *parts = _STEP.split(PAGE.read_text())
    found = []
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        section = text.partition("\n## ")[0]
        forward, _, back = section.partition(_BACK)
        found.append(Step(name, _commands(forward), _commands(back)))
    return found


def _commands(text: str) -> list[str]:
    """The commands of the console blocks; one may have several lines."""
    found: list[str] = []
    for block in _BLOCK.findall(text):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(line.removeprefix("$ "))
            elif found[-1].endswith(("\\", "|", "do")) or line.startswith("  "):
                found[-1] += f"\n{line}"
    return found


class Terminal:
    """Runs commands in a directory, with policyd and kubectl for a cluster.

    ``others`` run what this machine has no cluster for, by the beginning of a command.
    """

    def __init__(
        self, folder: Path, kubeconfig: Path, kubectl: str, others: Mapping[str, Callable[[], None]]
    ) -> None:
        self._folder = folder
        self._others = others
        programs = folder / "bin"
        programs.mkdir(parents=True)
        (programs / "kubectl").symlink_to(kubectl)
        (programs / "policyd").write_text(f'#!/bin/sh\nexec {sys.executable} -m policyd "$@"\n')
        (programs / "policyd").chmod(0o755)
        path = f"{programs}:{os.environ['PATH']}"
        self._environment = {
            "PATH": path, "HOME": str(folder), "KUBECONFIG": str(kubeconfig),
            "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        self.log: list[str] = []

    def run(self, command: str, fails: Sequence[str] = ()) -> None:
        """Run one command; ``fails`` are the beginnings of those that may exit with status 1."""
        self.log.append(f"$ {command}")
        for beginning, other in self._others.items():
            if command.startswith(beginning):
                other()
                return
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", command],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        self.log.append(done.stdout + done.stderr)
        wanted = (0, 1) if command.startswith(tuple(fails)) else (0,)
        assert done.returncode in wanted, self.log[-2:]

"""The commands of docs/migrate/kyverno.md, run as they are printed. No tests here."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.shared import ROOT

PAGE = ROOT / "docs/migrate/kyverno.md"
_STEP = re.compile(r"^## (\d+\. .+)$", re.MULTILINE)
# Commands, or the name and the text of a file to write.
_BLOCK = re.compile(r"```console\n(.*?)```|write\s`([^`]+)`[^`]*```yaml\n(.*?)```", re.DOTALL)
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
    """The commands of the console blocks, and one for each file to write; one may have several lines."""
    found: list[str] = []
    for block, name, written in _BLOCK.findall(text):
        if name:
            found.append(f"cat >{name} <<'END'\n{written}END")
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(line.removeprefix("$ "))
            elif (
                found[-1].endswith(("\\", "|", "do"))
                or line.startswith("  ")
                or _is_open(found[-1])
            ):
                found[-1] += f"\n{line}"
    return found


def _is_open(command: str) -> bool:
    """Whether a quoted string goes on in the next line."""
    return command.count("'") % 2 == 1


class Terminal:
    """Runs commands in a directory that has policyd's checkout, with these programs."""

    def __init__(self, folder: Path, kubeconfig: Path, others: Path) -> None:
        self._folder = folder
        (folder / "deploy").symlink_to(ROOT / "deploy")
        programs = folder / "bin"
        programs.mkdir(parents=True)
        (programs / "policyd").write_text(f'#!/bin/sh\nexec {sys.executable} -m policyd "$@"\n')
        (programs / "policyd").chmod(0o755)
        path = f"{programs}:{others}:{os.environ['PATH']}"
        self._environment = {
            "PATH": path, "HOME": str(folder), "KUBECONFIG": str(kubeconfig),
            "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        self.log: list[str] = []

    def run(self, command: str, fails: Sequence[str] = ()) -> None:
        """Run one command; ``fails`` are the beginnings of those that may exit with status 1."""
        self.log.append(f"$ {command}")
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

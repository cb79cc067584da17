"""Projects that run policyd in CI: a policy, its suite, a manifest, a repository. No tests here."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.cli.program import program

PROGRAMS = Path(sys.executable).parent
POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: team}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  validations:
  - {expression: "'team' in object.metadata.?labels.orValue({})", message: no team}
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {}\n"
SUITE = """\
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: team}
policies: [policy.yaml]
cases:
- name: without a team
  request: {object: {apiVersion: v1, kind: Pod, metadata: {name: web}}}
  expect: {allowed: false, message: no team}
"""
# A Python that makes an environment in which it is itself, and notes what it is asked to do.
PYTHON = """\
#!/bin/sh
[ "$1" != -c ] || exit 0
echo "$*" >>"$HOME/calls"
[ "$2" != venv ] || { mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; }
"""


class Repository:
    """A repository of git in a folder."""

    def __init__(self, folder: Path, files: Mapping[str, str | bytes]) -> None:
        self.folder = folder
        identity = {f"GIT_{role}_{part}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}  # fmt: skip
        usual = {name: each for name, each in os.environ.items() if not name.startswith("GIT_")}
        self._environment = {
            **usual,  # with what leads pip to its index
            "PATH": f"{program().parent}:{PROGRAMS}:{os.environ['PATH']}",
            "HOME": str(folder.parent),
            "PRE_COMMIT_HOME": str(folder.parent / "cache"),
            "GIT_CONFIG_NOSYSTEM": "1",
            **identity,
        }
        folder.mkdir()
        self.run("git", "init", "-q")
        self.commit(files)

    def stage(self, files: Mapping[str, str | bytes]) -> None:
        """Write files and stage everything."""
        for name, content in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            data = content.encode() if isinstance(content, str) else content
            (self.folder / name).write_bytes(data)
        self.run("git", "add", "-A")

    def run(self, *command: str, status: int = 0, seconds: float = 300) -> str:
        """What a command prints, which must end with this status, in time."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == status, done.stdout
        return done.stdout

    def commit(self, files: Mapping[str, str | bytes]) -> str:
        """Write files and commit everything; return the commit."""
        self.stage(files)
        self.run("git", "commit", "-qm", "all")
        return self.head()

    def head(self) -> str:
        """The last commit."""
        return self.run("git", "rev-parse", "HEAD").strip()

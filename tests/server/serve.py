"""``policyd serve`` as a process of its own, over files of policies about ConfigMaps. No tests here."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.server import pair
from tests.server.process import Process

POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {{name: {name}}}
spec:
  failurePolicy: {failure}
  matchConstraints:
    resourceRules:
    - {{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}
  {spec}
"""
DENY = 'validations: [{expression: "!has(object.data.forbidden)", message: no TEXT}]'


def write_policy(folder: Path, name: str, spec: str, failure: str = "Fail") -> Path:
    """One policy file, written in one step as an editor would; ``spec`` is the rest of its spec."""
    folder.mkdir(exist_ok=True)
    new = folder / f".{name}.new"
    new.write_text(POLICY.format(name=name, spec=spec, failure=failure))
    return new.rename(folder / f"{name}.yaml")


def command(policies: Path | None, *flags: str) -> list[str]:
    """The command line, with free ports."""
    where = ["--bind", "127.0.0.1:0", "--admin-bind", "127.0.0.1:0", "--drain", "0s"]
    files = [] if policies is None else ["-p", str(policies)]
    return [sys.executable, "-m", "policyd", "serve", *files, *pair.flags(), *where, *flags]


@contextmanager
def serving(folder: Path, policies: Path, *flags: str) -> Iterator[Process]:
    """A running server; its log is ``server.log`` in the folder."""
    with Process(command(policies, *flags), folder / "server.log") as process:
        yield process

"""docs/migrate/kyverno.md beside the real Kyverno, with forty policies and traffic: its commands as they
are printed, two ways back, and nothing unenforced at any moment.
"""

import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, free_ports
from tests.products.requests import NAMESPACES, OLD, sources
from tests.products.runbook import Step, Terminal, steps
from tests.products.running import kubeconfig, kyverno, namespace
from tests.products.traffic import Traffic, settled
from tests.programs import program
from tests.server.process import Process, until

POLICIES = "/apis/kyverno.io/v1/clusterpolicies"
TRIED_BACK = ("4", "6")
MAY_FAIL = ("policyd compare",)
_DIFFERENT = re.compile(
    r"^(stricter|looser|other message|other patch|no answer)  +\S+  +(.+) by admin ", re.MULTILINE
)


@pytest.fixture(scope="module")
def engine(api: Cluster, client: Client, logs: Path) -> Iterator[ExitStack]:
    """Kyverno with its policies; ends with the stack."""
    policies = sources()
    for name in NAMESPACES:
        namespace(client, name)
    client.made(OLD)
    with ExitStack() as stack:
        stack.enter_context(kyverno(api, client, logs))
        for each in policies:
            answer = client.send("POST", POLICIES, each)
            assert answer.status == 201, answer.message
        wrong: list[str] = []

        def enforcing() -> bool:
            wrong[:] = settled(client)
            return not wrong

        try:
            until(enforcing, "Kyverno to enforce all policies", 120)
        except AssertionError as error:
            raise AssertionError(wrong) from error
        yield stack


class Installations:
    """What Helm would start and stop."""

    def __init__(self, api: Cluster, engine: ExitStack, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        self._kubeconfig = kubeconfig(api)
        [self._port] = free_ports(1)
        self.policyd = ExitStack()

    def install_policyd(self) -> None:
        """Start a replica that does what the chart's Pods do."""
        flags = {
            "bind": f"127.0.0.1:{self._port}", "webhook-url": f"https://127.0.0.1:{self._port}",
            "admin-bind": "127.0.0.1:0", "kubeconfig": str(self._kubeconfig),
            "namespace": "policyd", "policy-configmaps": "policyd.dev/policies=true",
            "capture": str(self._folder / "recorded"),
        }  # fmt: skip
        command = ["policyd", "serve", "--register", "--self-signed"]
        command += [f"--{name}={value}" for name, value in flags.items()]
        log = self._folder / "policyd.log"
        self.policyd.enter_context(Process([sys.executable, "-m", *command], log))

    def copy_capture(self) -> None:
        shutil.copytree(self._folder / "recorded", self._folder / "capture")

    def remove_kyverno(self) -> None:
        self._engine.close()

    def upgrade_policyd(self) -> None:
        """Only the recording ends."""


@pytest.mark.timeout(3600)  # some twenty minutes
def test_nothing_is_unenforced(
    api: Cluster, client: Client, engine: ExitStack, tmp_path: Path
) -> None:
    made = Installations(api, engine, tmp_path)
    others = {
        "helm install policyd": made.install_policyd,
        "helm upgrade policyd": made.upgrade_policyd,
        "helm uninstall kyverno": made.remove_kyverno,
        "kubectl cp": made.copy_capture,
    }
    terminal = Terminal(tmp_path, kubeconfig(api), program("kubectl"), others)
    load = Traffic(api)
    try:
        with made.policyd, load.running():
            load.round()
            for step in steps():
                _done(step, terminal, load)
    finally:
        print(*terminal.log, load.table(), *load.faults[:40], sep="\n")
    counts = [each.counts for each in load.minutes]
    assert not load.faults
    differences = set(_DIFFERENT.findall("\n".join(terminal.log)))
    assert differences == {("stricter", "UPDATE Service shop/old")}
    assert counts[0]["by Kyverno"] and not counts[0]["by policyd"]
    assert counts[-1]["by policyd"] and not counts[-1]["by Kyverno"]
    assert client.send("GET", POLICIES).status == 404


def _done(step: Step, terminal: Terminal, load: Traffic) -> None:
    """Take a step; some back, and again."""
    _run(step.name, step.commands, terminal, load)
    if step.name.partition(".")[0] in TRIED_BACK:
        _run(f"{step.name}: way back", step.way_back, terminal, load)
        _run(f"{step.name}: again", step.commands, terminal, load)


def _run(name: str, commands: Sequence[str], terminal: Terminal, load: Traffic) -> None:
    load.step(name)
    for command in commands:
        terminal.run(command, MAY_FAIL)
    load.round()

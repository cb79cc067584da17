"""docs/migrate/kyverno.md on a node with the real Kyverno, its policies and traffic: its commands as they are
printed, two ways back, and nothing unenforced at any moment.

``make products`` runs it: it takes some twenty minutes.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from policyd.cluster.listing import list_path
from policyd.json_types import JSONObject
from policyd.reports.apis import WG_POLICY
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.node import kyverno
from tests.node.machine import Node
from tests.products.conftest import RUN
from tests.products.requests import AUDITED, NAMESPACES, OLD, placed, sources
from tests.products.runbook import Step, Terminal, steps
from tests.products.running import namespace
from tests.products.traffic import Traffic, settled
from tests.server.process import until

pytestmark = pytest.mark.skipif(
    os.environ.get(RUN) != "1", reason=f"needs Kyverno: run `make products`, or set {RUN}=1"
)
POLICIES = "/apis/kyverno.io/v1/clusterpolicies"
TRIED_BACK = ("4", "6")
MAY_FAIL = ("policyd compare",)
_DIFFERENT = re.compile(
    r"^(stricter|looser|other message|other patch|unknown|no answer)  +\S+  +(.+) by admin ",
    re.MULTILINE,
)
# Of a policy that only audits, and matches no other request.
_AUDITED = re.compile(r"^restrict-networkpolicy-empty-podselector +(\d+) ", re.MULTILINE)


@pytest.fixture
def api(node: Node) -> Iterator[Cluster]:
    with node.network() as running:
        yield running


@pytest.fixture
def client(api: Cluster) -> Iterator[Client]:
    with closing(Client(api)) as made:
        yield made


@pytest.fixture
def _enforcing(node: Node, client: Client) -> None:
    """Kyverno with its policies."""
    policies = sources()
    for name in NAMESPACES:
        namespace(client, name)
    client.made(OLD)
    kyverno.install(node, "policyd")
    for each in policies:
        client.made(each)
    wrong: list[str] = []

    def enforcing() -> bool:
        wrong[:] = settled(client)
        return not wrong

    try:
        until(enforcing, "Kyverno to enforce all policies", 120)
    except AssertionError as error:
        raise AssertionError(wrong) from error


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("_enforcing")
def test_nothing_is_unenforced(node: Node, api: Cluster, client: Client, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, node.folder / "kubeconfig", node.programs)
    load = Traffic(api)
    try:
        with load.running():
            load.round()
            for step in steps():
                _done(step, terminal, load)
                if step.name.startswith("2."):
                    for thing in AUDITED.values():
                        _report(client, thing)
    finally:
        print(*terminal.log, load.table(), *load.faults[:40], sep="\n")
    counts = [each.counts for each in load.minutes]
    assert not load.faults
    printed = "\n".join(terminal.log)
    assert set(_DIFFERENT.findall(printed)) == {("stricter", "UPDATE Service shop/old")}
    assert _AUDITED.findall(printed) == ["1"]
    assert counts[0]["by Kyverno"] and not counts[0]["by policyd"]
    assert counts[-1]["by policyd"] and not counts[-1]["by Kyverno"]
    assert client.send("GET", POLICIES).status == 404


def _report(client: Client, thing: JSONObject) -> None:
    """Create what a policy only audits, and wait until Kyverno has scanned it."""
    metadata = client.made(placed(thing, "audited", "shop"))["metadata"]
    where = metadata.get("namespace", "")
    path = f"{list_path(WG_POLICY.resource(where), where)}/{metadata['uid']}"
    created = datetime.fromisoformat(metadata["creationTimestamp"]).timestamp()

    def scanned() -> bool:
        results = client.send("GET", path).body.get("results", ())
        return any(each["timestamp"]["seconds"] > created for each in results)

    until(scanned, f"a later result in {path}", 180)


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

"""The life of a release: upgrade, rollback, reboot of the node, uninstall."""

import json
import time
from typing import Any

from tests.node import previous
from tests.node.documents import plain_pod
from tests.node.installation import (
    CHART,
    FILE,
    KINDS,
    NAMESPACE,
    RELEASE,
    Installation,
    first_denial,
    helm,
    uninstall,
)
from tests.node.load import Load
from tests.node.machine import Node, manifest, until
from tests.node.report import Report


def images(policyd: Installation) -> set[str]:
    """The images that run."""
    return {each["spec"]["containers"][0]["image"] for each in policyd.pods()}


def upgrade(policyd: Installation, tag: str) -> None:
    values = json.loads((policyd.node.folder / FILE).read_text())
    changed = {**values, "image": {"tag": tag}} if tag else values
    (policyd.node.folder / "upgrade.json").write_text(json.dumps(changed))
    file = str(policyd.node.folder / "upgrade.json")
    helm(policyd.node, "upgrade", RELEASE, CHART, "-f", file, "--wait", "--timeout", "180s")


def test_upgrade_and_rollback(policyd: Installation, report: Report) -> None:
    """From the last release to this one and back, under load."""
    policyd.node.load(previous.archive())
    upgrade(policyd, previous.TAG)
    policyd.settle()
    assert images(policyd) == {f"policyd:{previous.TAG}"}

    def to_this() -> None:
        upgrade(policyd, "")

    def back() -> None:
        helm(policyd.node, "rollback", RELEASE, "--wait", "--timeout", "180s")

    for what, change, tag in (("upgrade", to_this, ""), ("rollback", back, previous.TAG)):
        with Load(policyd.node, 20) as load:
            time.sleep(2)
            change()
            policyd.settle()
        (image,) = images(policyd)
        assert (image == f"policyd:{previous.TAG}") == bool(tag)
        report.disruption(f"helm {what}", 20, load.outcome)
    upgrade(policyd, "")
    policyd.settle()


def test_reboot_of_the_node(policyd: Installation, report: Report) -> None:
    """The cluster comes up by itself, although policyd's webhooks are there before policyd is."""
    policyd.node.stop(keep=True)
    begin = time.monotonic()
    policyd.node.start()
    ready = time.monotonic() - begin
    report.figure("reboot: node Ready", f"{ready:.0f} s")
    report.figure("reboot: first denied Pod", f"{first_denial(policyd.node) - begin:.0f} s")
    policyd.settle()


def test_uninstall_leaves_no_webhook_behind(policyd: Installation, report: Report) -> None:
    """Good Pods are admitted all the time; bad ones from the moment that the webhooks are gone."""
    with Load(policyd.node, 20, after=5) as load:
        time.sleep(2)
        uninstall(policyd.node)
    counts = load.outcome.counts
    report.progress(f"helm uninstall: {dict(counts)}")
    assert (counts["lost"], counts["wrongly denied"]) == (0, 0), load.outcome.faults
    assert left(policyd.node) == []
    assert "created" in policyd.node.kubectl(
        "create", "--dry-run=server", "-f", "-", sent=manifest(plain_pod("free", hostNetwork=True))
    )


def test_webhooks_go_with_the_namespace(policyd: Installation, report: Report) -> None:
    """Somebody deletes the namespace instead of the release."""
    node, begin = policyd.node, time.monotonic()
    until(lambda: registered(node), "registered webhooks")
    node.kubectl("delete", "namespace", NAMESPACE, "--timeout=120s")
    until(lambda: not left(node), "the end of the webhook configurations")
    report.figure("namespace deleted: no webhook left", f"{time.monotonic() - begin:.0f} s")
    assert "created" in node.kubectl(
        "create", "--dry-run=server", "-f", "-", sent=manifest(plain_pod("free", hostNetwork=True))
    )


def registered(node: Node) -> bool:
    """Whether policyd has registered a webhook."""
    return any(each.get("webhooks") for each in left(node))


def left(node: Node) -> list[Any]:
    """The webhook configurations of the cluster."""
    return list(node.get(KINDS))

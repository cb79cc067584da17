"""What the replicas do by themselves: one writes the webhook configurations and the certificates."""

import json
import time
from typing import Any

from tests.node.documents import plain_pod
from tests.node.installation import (
    CHART,
    DENIED,
    NAMESPACE,
    RELEASE,
    Installation,
    ensure,
    helm,
    managed,
    uninstall,
)
from tests.node.load import Load
from tests.node.machine import Node, manifest, until
from tests.node.report import Report

VALIDATING = "validatingwebhookconfiguration"
NARROWED = 12.0  # seconds: rules that no policy needs any more are removed within these
LIFETIME = 60
ROTATIONS = 100.0  # seconds: each certificate is renewed after two thirds of its lifetime


def webhooks(node: Node) -> list[dict[str, Any]]:
    """The validating webhooks, without their authority, which changes."""
    found = node.get(VALIDATING, "policyd").get("webhooks", [])
    for each in found:
        each["clientConfig"].pop("caBundle", None)
    return list(found)


def test_one_replica_leads(policyd: Installation) -> None:
    assert policyd.leader() in policyd.names()
    leads = {
        name: "policyd_leader 1.0" in policyd.page(name, "/metrics") for name in policyd.names()
    }
    assert [name for name, leading in leads.items() if leading] == [policyd.leader()]


def test_killed_leader_is_replaced(policyd: Installation, report: Report) -> None:
    leader, before = policyd.leader(), settled(policyd.node)
    begin = time.monotonic()
    policyd.kubectl("delete", "pod", leader, "--force", "--grace-period=0")
    until(lambda: policyd.leader() != leader, "another leader")
    report.figure("leader killed: the next one leads after", f"{time.monotonic() - begin:.1f} s")
    policyd.node.kubectl("patch", VALIDATING, "policyd", "--type=json", "-p", remove("/webhooks"))
    took = until(lambda: webhooks(policyd.node) == before, "the webhooks of the new leader")
    report.figure("webhooks removed by hand: back after", f"{took:.1f} s")
    policyd.settle()


def settled(node: Node) -> list[dict[str, Any]]:
    """The validating webhooks after the rules of former policies have gone."""
    found = webhooks(node)
    while True:
        time.sleep(NARROWED)
        if found and found == webhooks(node):
            return found
        found = webhooks(node)


def remove(path: str) -> str:
    return json.dumps([{"op": "remove", "path": path}])


def test_changed_webhooks_are_corrected(policyd: Installation) -> None:
    before = settled(policyd.node)
    policyd.node.kubectl(
        "patch", VALIDATING, "policyd", "--type=json", "-p", remove("/webhooks/0/rules/0")
    )
    until(lambda: webhooks(policyd.node) == before, "the rules")


def test_deleted_configuration_comes_back_with_the_release(policyd: Installation) -> None:
    """policyd has no right to make a configuration, so that nothing comes back after an uninstall."""
    before = settled(policyd.node)
    policyd.node.kubectl("delete", VALIDATING, "policyd")
    until(
        lambda: "cannot create" in policyd.log() or "forbidden" in policyd.log(),
        "the line in the log",
    )
    helm(policyd.node, "upgrade", RELEASE, CHART, values=managed())
    until(lambda: webhooks(policyd.node) == before, "the webhooks")
    bad = manifest(plain_pod("bad", hostNetwork=True))
    assert DENIED in policyd.node.refused("create", "--dry-run=server", "-f", "-", sent=bad)


def test_timeouts(policyd: Installation, report: Report) -> None:
    """Replicas that do not answer: the failurePolicy of each webhook decides."""
    processes, node = policyd.processes(), policyd.node
    template = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "unlabelled", "namespace": "default"},
        "template": {"spec": plain_pod("x")["spec"]},
    }
    assert "PodTemplates must have" in node.refused("create", "-f", "-", sent=manifest(template))
    try:
        node.inside("kill", "-STOP", *processes)
        begin = time.monotonic()
        printed = node.refused("create", "-f", "-", sent=manifest(plain_pod("late")))
        assert "failed calling webhook" in printed
        report.figure(
            "no answer, failurePolicy Fail: refused after", f"{time.monotonic() - begin:.1f} s"
        )
        begin = time.monotonic()
        node.kubectl("create", "-f", "-", sent=manifest(template))
        report.figure(
            "no answer, failurePolicy Ignore: admitted after", f"{time.monotonic() - begin:.1f} s"
        )
    finally:
        node.inside("kill", "-CONT", *processes)
    node.kubectl("delete", "podtemplate", "unlabelled")
    policyd.settle()


def test_rotation_under_load(policyd: Installation, report: Report) -> None:
    """Certificates of a minute: the authority is trusted before anybody serves its certificate."""
    node = policyd.node
    uninstall(policyd.node)
    node.kubectl("delete", "secret", "policyd-tls", "-n", NAMESPACE)  # it stays, and lives longer
    ensure(
        node,
        report,
        {**managed(), "certificates": {"lifetime": f"{LIFETIME}s"}},
        "certificates of a minute",
    )
    served = set()
    with Load(node, 20) as load:
        begin = time.monotonic()
        while time.monotonic() - begin < ROTATIONS:
            secret = node.get("secret", "policyd-tls", "-n", NAMESPACE)
            served.add(secret["data"]["tls.crt"])
            time.sleep(2)
    report.disruption(f"{len(served) - 1} rotations of managed certificates", 20, load.outcome)
    assert len(served) > 2

"""The profile without any rights: policies are files of mounted ConfigMaps."""

import json
import time

import pytest

from tests.node.documents import data, forbidden, plain_pod
from tests.node.installation import EDITED, NAMESPACE, Installation, ensure, static
from tests.node.machine import Node, manifest, until
from tests.node.report import Report


@pytest.fixture
def policyd(node: Node, report: Report) -> Installation:
    return ensure(node, report, static(node), "static")


def test_no_rights_and_no_token(policyd: Installation) -> None:
    for pod in policyd.pods():
        mounted = [each["mountPath"] for each in pod["spec"]["containers"][0]["volumeMounts"]]
        assert "/var/run/secrets/kubernetes.io/serviceaccount" not in mounted
    account = f"system:serviceaccount:{NAMESPACE}:policyd"
    answer = policyd.node.run(
        "kubectl", "auth", "can-i", "get", "configmaps", "-n", NAMESPACE, "--as", account
    )
    assert answer.out.strip() == "no"


def test_edit_of_a_mounted_config_map(policyd: Installation, report: Report) -> None:
    """The kubelet writes it to the Pods within its syncFrequency, at another time for each Pod."""
    before = set(policyd.generations().values())
    assert len(before) == 1
    begin = time.monotonic()
    policyd.node.apply(data(EDITED, {"edited.yaml": forbidden("busybox:node")}, NAMESPACE))
    until(lambda: set(policyd.generations().values()) != before, "the first replica", 150)
    first = time.monotonic() - begin
    until(lambda: before.isdisjoint(policyd.generations().values()), "the last replica", 150)
    last = time.monotonic() - begin
    report.figure("mounted ConfigMap: edit to enforcement", f"{first:.0f} to {last:.0f} s")
    assert len(set(policyd.generations().values())) == 1
    printed = policyd.node.refused("create", "-f", "-", sent=manifest(plain_pod("forbidden")))
    assert "the image is forbidden" in printed


def test_broken_edit_of_a_mounted_config_map(policyd: Installation) -> None:
    """Nobody can refuse the edit; the policies in use stay, and the page and the log say why."""
    loaded = policyd.generations()
    edit(policyd, forbidden("x").replace("object.", "objekt."))

    def failed() -> bool:
        states = [json.loads(policyd.page(name, "/policies"))["lastReload"] for name in loaded]
        return all(each is not None and not each["succeeded"] for each in states)

    until(failed, "the failed reload of every replica", 150)
    assert policyd.generations() == loaded
    assert "undeclared reference to 'objekt'" in policyd.log()
    edit(policyd, forbidden("none"))
    until(lambda: not failed(), "the good policies", 150)


def edit(policyd: Installation, text: str) -> None:
    """Change the ConfigMap, and the Pods, so that the kubelet looks at their volumes now."""
    policyd.node.apply(data(EDITED, {"edited.yaml": text}, NAMESPACE))
    policyd.kubectl("annotate", "pods", "--all", "--overwrite", f"edited={time.time()}")

"""Policies of ConfigMaps that policyd reads by watch: edits are enforced at once, or refused."""

import json
import time

from tests.node.documents import data, forbidden, plain_pod
from tests.node.editing import LABELS, edited, in_step
from tests.node.installation import EDITED, NAMESPACE, Installation
from tests.node.machine import manifest, until
from tests.node.report import Report

SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "outside", "namespace": "default"},
    "spec": {"type": "NodePort", "ports": [{"port": 80}]},
}
SERVICES = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: no-node-ports}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [services]}
  validations:
  - expression: "object.spec.?type.orValue('') != 'NodePort'"
    message: NodePort is not allowed
"""


def loaded(policyd: Installation, generation: str) -> list[float]:
    """When each replica loaded a generation, by its log."""
    times = []
    for name in policyd.names():
        lines = [json.loads(line) for line in policyd.kubectl("logs", name).splitlines()]
        times += [
            _seconds(line["time"])
            for line in lines
            if line["event"] == "reload" and line.get("generation") == generation
        ][-1:]
    return times


def _seconds(text: str) -> float:
    whole, _, fraction = text.removesuffix("Z").partition(".")
    return (
        time.mktime(time.strptime(f"{whole}+0000", "%Y-%m-%dT%H:%M:%S%z"))
        - time.timezone
        + float(f"0.{fraction}")
    )


def test_edit_is_enforced_by_all_replicas(policyd: Installation, report: Report) -> None:
    edited(policyd, forbidden("none"))
    time.sleep(3)
    took = []
    for image in ("busybox:node", "none", "busybox:node"):
        before = {*policyd.generations().values()}
        stored = edited(policyd, forbidden(image))
        until(lambda: in_step(policyd, before), "the policies in every replica")  # noqa: B023
        (generation,) = {*policyd.generations().values()}
        took += [each - stored for each in loaded(policyd, generation)]
    shown = f"{min(took):.2f} to {max(took):.2f} s"
    report.figure("labelled ConfigMap: stored edit to enforcement, each replica", shown)
    printed = policyd.node.refused("create", "-f", "-", sent=manifest(plain_pod("forbidden")))
    assert "the image is forbidden" in printed
    edited(policyd, forbidden("none"))


def test_broken_edit_is_refused_with_line_and_caret(policyd: Installation) -> None:
    edited(policyd, forbidden("none"))
    until(lambda: in_step(policyd, set()), "one generation")
    before = policyd.generations()
    broken = forbidden("none").replace("object.", "objekt.")
    sent = manifest(data(EDITED, {"edited.yaml": broken}, NAMESPACE, LABELS))
    printed = policyd.node.refused("apply", "-f", "-", sent=sent)
    assert "undeclared reference to 'objekt'" in printed
    assert "edited.yaml" in printed
    assert ":9:" in printed
    assert "^" in printed
    assert "did you mean object?" in printed
    stored = policyd.node.get("configmap", EDITED, "-n", NAMESPACE)
    assert stored["data"]["edited.yaml"] == forbidden("none")
    assert policyd.generations() == before


def test_policy_for_another_kind_is_called(policyd: Installation, report: Report) -> None:
    """The rules of the webhook follow the policies."""
    sent = manifest(SERVICE)
    create = ["create", "--dry-run=server", "-f", "-"]
    assert policyd.node.run("kubectl", *create, sent=sent).status == 0
    stored = edited(policyd, SERVICES)
    until(
        lambda: "NodePort is not allowed" in policyd.node.run("kubectl", *create, sent=sent).err,
        "the call",
    )
    report.figure(
        "policy for another kind: stored edit to the first denial", f"{time.time() - stored:.1f} s"
    )
    edited(policyd, forbidden("none"))
    until(
        lambda: policyd.node.run("kubectl", *create, sent=sent).status == 0, "the end of the policy"
    )

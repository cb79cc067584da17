"""What users see of the policies, by the real kubectl: every operation that admission sees."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.node.documents import SHOP, data, plain_pod, shop_pod, web, widget, widgets
from tests.node.installation import Installation
from tests.node.machine import Node, manifest, until


@pytest.fixture(scope="module", autouse=True)
def _shop(node: Node) -> Iterator[None]:
    node.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SHOP}}, widgets())
    node.kubectl("wait", "--for=condition=Established", "crd/widgets.example.com")
    yield
    node.kubectl("delete", "crd", "widgets.example.com")
    node.kubectl("delete", "namespace", SHOP)


@pytest.fixture
def shop(policyd: Installation) -> Node:
    """The node, with policyd and the namespace ``shop``."""
    return policyd.node


def test_denial_names_policy_field_and_container(shop: Node) -> None:
    bad = plain_pod("bad", hostNetwork=True)
    bad["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    printed = shop.refused("create", "-f", "-", sent=manifest(bad))
    assert "policy 'baseline-host-namespaces' denied request" in printed
    assert "policy 'baseline-privileged' denied request" in printed
    assert 'The pods "bad" is invalid: ' in printed or 'Pod "bad" is invalid' in printed


def test_warnings_and_audit_annotations(shop: Node) -> None:
    done = shop.run("kubectl", "create", "-f", "-", sent=manifest(plain_pod("warned", SHOP)))
    assert done.status == 0
    assert "Warning: " in done.err
    assert "Pods must have the label team" in done.err
    until(lambda: annotations(shop, "create", "warned"), "the audit event")
    found = annotations(shop, "create", "warned")
    assert found["team-label.containers"] == "1"
    failures = json.loads(found["validation_failure"])
    assert failures[0]["message"] == "Pods must have the label team"


def annotations(node: Node, verb: str, name: str) -> Any:
    """The annotations of an audited request that policyd made, without the names of its webhooks."""
    for event in node.audited():
        if event["verb"] == verb and event.get("objectRef", {}).get("name") == name:
            found = event.get("annotations", {})
            return {
                key.partition(".policyd.dev/")[2]: value
                for key, value in found.items()
                if ".policyd.dev/" in key
            }
    return {}


def test_mutation_is_stored(shop: Node) -> None:
    shop.apply(shop_pod("mutated"))
    (container,) = shop.get("pod", "mutated", "-n", SHOP)["spec"]["containers"]
    assert container["resources"] == {"limits": {"memory": "64Mi"}, "requests": {"memory": "64Mi"}}


def test_dry_run_stores_nothing(shop: Node) -> None:
    shown = shop.kubectl(
        "create", "--dry-run=server", "-o", "json", "-f", "-", sent=manifest(shop_pod("dry"))
    )
    (container,) = json.loads(shown)["spec"]["containers"]
    assert container["resources"]["limits"] == {"memory": "64Mi"}
    assert "NotFound" in shop.refused("get", "pod", "dry", "-n", SHOP)
    bad = manifest(plain_pod("dry", hostNetwork=True))
    assert "baseline-host-namespaces" in shop.refused(
        "create", "--dry-run=server", "-f", "-", sent=bad
    )


def test_update_patch_and_apply(shop: Node) -> None:
    shop.apply(data("settings", {"frozen": "1", "free": "1"}))
    assert "configured" in shop.apply(data("settings", {"frozen": "1", "free": "2"}))
    refusal = "data.frozen must not change"
    changed = manifest(data("settings", {"frozen": "2"}))
    assert refusal in shop.refused("replace", "-f", "-", sent=changed)
    assert refusal in shop.refused("apply", "-f", "-", sent=changed)
    assert refusal in shop.refused(
        "apply", "--server-side", "--force-conflicts", "-f", "-", sent=changed
    )
    for kind, patch in (
        ("merge", {"data": {"frozen": "2"}}),
        ("strategic", {"data": {"frozen": "2"}}),
        ("json", [{"op": "replace", "path": "/data/frozen", "value": "2"}]),
    ):
        arguments = ["patch", "configmap", "settings", "-n", SHOP, f"--type={kind}"]
        assert refusal in shop.refused(*arguments, "-p", json.dumps(patch))
    shop.kubectl("patch", "configmap", "settings", "-n", SHOP, "-p", '{"data": {"free": "3"}}')
    stored = shop.get("configmap", "settings", "-n", SHOP)["data"]
    assert stored == {"frozen": "1", "free": "3"}


def test_delete_and_deletecollection(shop: Node) -> None:
    shop.apply(
        data("kept", {}, labels={"protected": "", "set": "a"}),
        data("other", {}, labels={"set": "a"}),
    )
    refusal = "the object is protected"
    assert refusal in shop.refused("delete", "configmap", "kept", "-n", SHOP)
    assert refusal in shop.refused("delete", "configmap", "-n", SHOP, "-l", "set=a")
    collection = f"/api/v1/namespaces/{SHOP}/configmaps?labelSelector=set%3Da"
    assert refusal in shop.refused("delete", "--raw", collection)
    assert shop.get("configmap", "kept", "-n", SHOP)
    shop.kubectl("label", "configmap", "kept", "protected-", "-n", SHOP)
    shop.kubectl("delete", "--raw", collection)
    assert shop.get("configmap", "-n", SHOP, "-l", "set=a") == []


def test_exec(shop: Node) -> None:
    shop.apply(shop_pod("shell"))
    shop.kubectl("wait", "--for=condition=Ready", "pod/shell", "-n", SHOP, "--timeout=60s")
    assert shop.kubectl("exec", "shell", "-n", SHOP, "--", "echo", "works") == "works\n"
    printed = shop.refused("exec", "-i", "shell", "-n", SHOP, "--", "cat", sent="")
    assert "exec must not have standard input" in printed


def test_scale(shop: Node) -> None:
    shop.apply(web())
    shop.kubectl("scale", "deployment/web", "--replicas=2", "-n", SHOP)
    printed = shop.refused("scale", "deployment/web", "--replicas=3", "-n", SHOP)
    assert "at most two replicas" in printed
    shop.kubectl("rollout", "status", "deployment/web", "-n", SHOP, "--timeout=90s")
    pods = shop.get("pods", "-n", SHOP, "-l", "app=web")
    limits = [each["spec"]["containers"][0]["resources"]["limits"] for each in pods]
    assert limits == [{"memory": "64Mi"}] * 2


def test_eviction(shop: Node) -> None:
    shop.apply(shop_pod("pinned"), shop_pod("loose"))
    for name, refusal in (("pinned", "the Pod is pinned"), ("loose", "")):
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": SHOP},
        }
        path = f"/api/v1/namespaces/{SHOP}/pods/{name}/eviction"
        done = shop.run("kubectl", "create", "--raw", path, "-f", "-", sent=json.dumps(eviction))
        assert (done.status != 0, refusal in done.err) == (bool(refusal), True), done.err
    until(
        lambda: "NotFound" in shop.run("kubectl", "get", "pod", "loose", "-n", SHOP).err, "the end"
    )
    assert shop.get("pod", "pinned", "-n", SHOP)


def test_both_versions_of_a_custom_resource(shop: Node) -> None:
    for version in ("v1", "v2"):
        printed = shop.refused("create", "-f", "-", sent=manifest(widget(version, 4)))
        assert "widgets have a size of at most 3" in printed
    shop.apply(widget("v1", 3), widget("v2", 2))
    refusal = shop.refused(
        "patch",
        "widgets.v1.example.com",
        "size-2",
        "-n",
        SHOP,
        "--type=merge",
        "-p",
        '{"spec": {"size": 9}}',
    )
    assert "widgets have a size of at most 3" in refusal

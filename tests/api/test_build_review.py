"""build_review: the request that an API server makes of a manifest, for every operation."""

import copy
from typing import Any

import pytest

from policyd import PolicySet, build_review
from policyd.cli.shared.manifests import Requester
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review as in_suites
from tests.api.objects import POD, requiring
from tests.builders.objects import container, definition, pod

OLD: JSONObject = {**POD, "metadata": {"name": "web", "labels": {"old": "yes"}}}
PLACED: JSONObject = {**POD, "metadata": {"name": "web", "namespace": "default"}}
OLD_PLACED: JSONObject = {**OLD, "metadata": {**OLD["metadata"], "namespace": "default"}}
ROLE: JSONObject = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "all"},
}
NAMESPACE: JSONObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
EXEC: JSONObject = {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["sh"]}
SCALE: JSONObject = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}}
LIST: JSONObject = {"apiVersion": "v1", "kind": "List", "items": [POD]}
CUSTOM: JSONObject = {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "b"}}


def request(*objects: Any, **given: Any) -> JSONObject:
    found: JSONObject = build_review(*objects, **given)["request"]
    return found


OPERATIONS: list[tuple[tuple[Any, ...], str, Any, Any]] = [
    ((POD,), "CREATE", PLACED, None),
    ((POD, None, "CREATE"), "CREATE", PLACED, None),
    ((POD, OLD), "UPDATE", PLACED, OLD_PLACED),
    ((POD, OLD, "UPDATE"), "UPDATE", PLACED, OLD_PLACED),
    ((POD, None, "UPDATE"), "UPDATE", PLACED, PLACED),
    ((None, OLD), "DELETE", None, OLD_PLACED),
    ((POD, None, "DELETE"), "DELETE", None, PLACED),
    ((POD, OLD, "DELETE"), "DELETE", None, OLD_PLACED),
    ((EXEC, None, "CONNECT"), "CONNECT", EXEC, None),
]


@pytest.mark.parametrize(("objects", "operation", "object_", "old"), OPERATIONS)
def test_operations(objects: tuple[Any, ...], operation: str, object_: Any, old: Any) -> None:
    before = copy.deepcopy(objects)
    found = request(*objects, defaults=False)
    assert (found["operation"], found["object"], found["oldObject"]) == (operation, object_, old)
    assert objects == before


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE", "CONNECT"])
def test_a_policy_set_takes_what_it_returns(operation: Any) -> None:
    policies = PolicySet.from_documents(
        requiring("operation", f"request.operation == '{operation}'")
    )
    assert policies.evaluate(build_review(POD, operation=operation)).allowed
    other: Any = "UPDATE" if operation == "CREATE" else "CREATE"
    result = policies.evaluate(build_review(POD, operation=other))
    assert [each.policy for each in result.violations] == ["operation"]


PLACES: list[tuple[JSONObject, dict[str, Any], str | None]] = [
    (POD, {}, "default"),
    (POD, {"namespace": "shop"}, "shop"),
    (PLACED, {"namespace": "default"}, "default"),
    (ROLE, {}, None),
    (NAMESPACE, {}, "shop"),
    (CUSTOM, {}, "default"),
    (CUSTOM, {"namespace": ""}, None),
]


@pytest.mark.parametrize(("obj", "given", "namespace"), PLACES)
def test_namespaces(obj: JSONObject, given: dict[str, Any], namespace: str | None) -> None:
    found = request(obj, **given)
    assert found.get("namespace") == namespace
    written = None if obj is NAMESPACE else namespace
    assert found["object"]["metadata"].get("namespace") == written


RESOURCES: list[tuple[JSONObject, dict[str, Any], tuple[str, str, str], str | None]] = [
    (POD, {}, ("", "v1", "pods"), None),
    (CUSTOM, {}, ("example.com", "v1", "boxes"), None),
    (CUSTOM, {"resource": "boxen"}, ("example.com", "v1", "boxen"), None),
    (POD, {"subresource": "status"}, ("", "v1", "pods"), "status"),
    (EXEC, {"resource": "v1/pods", "subresource": "exec"}, ("", "v1", "pods"), "exec"),
    (
        SCALE,
        {"resource": "apps/v1/deployments", "subresource": "scale"},
        ("apps", "v1", "deployments"),
        "scale",
    ),
]


@pytest.mark.parametrize(("obj", "given", "resource", "subresource"), RESOURCES)
def test_resources(
    obj: JSONObject, given: dict[str, Any], resource: tuple[str, str, str], subresource: str | None
) -> None:
    found = request(obj, **given)
    wanted = dict(zip(("group", "version", "resource"), resource, strict=True))
    assert found["resource"] == found["requestResource"] == wanted
    assert found.get("subResource") == found.get("requestSubResource") == subresource


def test_who_and_how() -> None:
    found = request(POD, user="ann", groups=["dev"], name="other", dry_run=True)
    assert found["userInfo"] == {"username": "ann", "groups": ["dev"]}
    assert (found["name"], found["dryRun"]) == ("other", True)
    assert found["options"]["kind"] == "CreateOptions"
    assert found["options"]["dryRun"] == ["All"]
    usual = request(POD)
    assert (usual["name"], usual["dryRun"]) == ("web", False)
    assert "dryRun" not in usual["options"]
    assert request(EXEC, operation="CONNECT", dry_run=True)["options"] is None


def test_the_review_may_be_changed() -> None:
    review = build_review(POD)
    review["request"]["userInfo"]["uid"] = "1"
    assert (
        PolicySet.from_documents(requiring("uid", "request.userInfo.uid == '1'"))
        .evaluate(review)
        .allowed
    )


def test_objects_have_their_defaults() -> None:
    spec = request(POD)["object"]["spec"]
    assert (spec["restartPolicy"], spec["containers"][0]["imagePullPolicy"]) == (
        "Always",
        "IfNotPresent",
    )
    assert request(POD, OLD)["oldObject"]["spec"]["restartPolicy"] == "Always"
    assert "restartPolicy" not in request(POD, defaults=False)["object"]["spec"]
    assert request(EXEC, operation="CONNECT")["object"] == EXEC


def test_the_set_knows_custom_kinds_and_its_version() -> None:
    schema = {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}
    box = definition(
        "Box", "example.com", schema, names={"kind": "Box", "plural": "boxen"}, scope="Cluster"
    )
    policies = PolicySet.from_documents(box)
    found = request({**CUSTOM, "spec": {}}, policies=policies)
    assert found["resource"]["resource"] == "boxen"
    assert "namespace" not in found and found["object"]["spec"] == {"size": 3}
    with pytest.raises(ValueError, match="a Box is cluster-scoped, so it has no namespace 'shop'"):
        request(CUSTOM, policies=policies, namespace="shop")
    # A Pod's own resources were filled in until 1.37.
    small = pod(
        container(resources={"limits": {"cpu": "1"}}), resources={"limits": {"memory": "1Gi"}}
    )
    filled = {
        version: request(small, policies=PolicySet.from_documents([], kubernetes_version=version))
        for version in ("1.36", "1.37")
    }
    assert filled["1.36"] != filled["1.37"] == request(small)


def test_what_is_cluster_scoped_loses_its_namespace() -> None:
    placed = {**ROLE, "metadata": {"name": "all", "namespace": "shop"}}
    found = request(placed)
    assert "namespace" not in found and found["object"]["metadata"] == {"name": "all"}


def test_one_default_user() -> None:
    default = {"username": "policyd", "groups": ["system:authenticated"]}
    assert request(POD)["userInfo"] == default == Requester().user_info
    assert in_suites(POD)["request"]["userInfo"] == default


WRONG: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((None,), {}, "object or old is needed"),
    (({"kind": "Pod"},), {}, "the object needs apiVersion, a string; got None"),
    (({"apiVersion": "v1", "kind": 1},), {}, "the object needs kind, a string; got 1"),
    ((POD, {"apiVersion": "v1"}), {}, "the object needs kind"),
    ((POD, None, "PATCH"), {}, "operation must be one of CREATE, UPDATE, DELETE, CONNECT"),
    ((ROLE,), {"namespace": "shop"}, "a ClusterRole is cluster-scoped, so it has no namespace"),
    ((PLACED,), {"namespace": "shop"}, "the object is in namespace 'default', not in 'shop'"),
    (({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"},), {}, "a review already"),
    ((LIST,), {}, "a List has several objects, .* call build_review for each of its items"),
    (({**LIST, "apiVersion": "v1", "kind": "PodList"},), {}, "a PodList has several objects"),
    ((SCALE,), {}, 'many resources have the subresource scale .* resource="apps/v1/deployments"'),
    ((SCALE,), {"resource": "nothing"}, "expected GROUP/VERSION/RESOURCE"),
    ((POD,), {"resource": "a/b/c/d"}, "expected RESOURCE, VERSION/RESOURCE or"),
]


@pytest.mark.parametrize(("objects", "given", "message"), WRONG)
def test_what_cannot_be_a_request(
    objects: tuple[Any, ...], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        build_review(*objects, **given)


@pytest.mark.parametrize("given", ["kind: Pod", b"{}", [POD], 3])
def test_what_is_no_decoded_object(given: Any) -> None:
    wrong = "expected an object as a dict, got .*: decode it first, for example with yaml.safe_load"
    with pytest.raises(TypeError, match=wrong):
        build_review(given)
    with pytest.raises(TypeError, match=wrong):
        build_review(POD, given)
    with pytest.raises(TypeError, match="policies must be a PolicySet"):
        build_review(POD, policies=given)


@pytest.mark.parametrize("levels", [900, 5_000, 100_000])
@pytest.mark.parametrize("kind", ["ConfigMap", "Pod"])
def test_an_object_of_every_depth(kind: str, levels: int) -> None:
    value: object = 1
    for _ in range(levels):
        value = [value]
    review = build_review({"apiVersion": "v1", "kind": kind, "metadata": {}, "spec": value})
    assert isinstance(review["request"]["object"]["spec"], list)

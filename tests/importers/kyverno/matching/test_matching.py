"""`match` and `exclude` of Kyverno select the same requests after the import."""

from typing import Any

import pytest

from policyd import build_review as build
from policyd.json_types import JSON, JSONObject
from tests.builders.objects import definition
from tests.importers.converting import BROKEN_DEFINITIONS, messages
from tests.importers.kyverno.classic import (
    allows,
    applies,
    cluster_policy,
    imported,
    matching,
    pod_of,
    reason,
    resources,
    spec_of,
    thing,
)


def annotated(**annotations: str) -> JSONObject:
    found = pod_of()
    found["metadata"]["annotations"] = annotations
    return found


WRITES = ["CREATE", "UPDATE", "DELETE"]
IN_PROD = {**pod_of(), "metadata": {"name": "web", "namespace": "prod-eu"}}
GENERATED = {**pod_of(), "metadata": {"generateName": "web-7d8f-", "namespace": "default"}}
SECRET = thing("Secret", metadata={"namespace": "default"})
ACCOUNT: dict[str, Any] = {"user": "system:serviceaccount:ci:deployer"}
ANN: dict[str, Any] = {"user": "ann", "groups": ["dev", "system:authenticated"]}


@pytest.mark.parametrize(
    ("entry", "obj", "expected"),
    [
        (resources(), pod_of(), True),
        (resources(), SECRET, False),
        (resources("*"), SECRET, True),
        (resources("v1/Pod"), pod_of(), True),
        (resources("v1/Secret"), pod_of(), False),
        (resources("*et"), SECRET, True),
        (resources("*et"), pod_of(), False),
        (resources(namespaces=["prod-*"]), IN_PROD, True),
        (resources(namespaces=["prod-*"]), pod_of(), False),
        (resources(namespaces=["default", "test"]), pod_of(), True),
        (resources(namespaces=["prod-??"]), IN_PROD, True),
        (resources(name="web"), pod_of(), True),
        (resources(name="web"), pod_of("db"), False),
        (resources(names=["db", "we?"]), pod_of(), True),
        (resources(names=["web-*"]), GENERATED, True),
        (resources(selector={"matchLabels": {"app": "web"}}), pod_of(labels={"app": "web"}), True),
        (resources(selector={"matchLabels": {"app": "web"}}), pod_of(), False),
        (resources(selector={"matchLabels": {"app": "w*"}}), pod_of(labels={"app": "web"}), True),
        (resources(selector={"matchLabels": {"app": "w*"}}), pod_of(labels={"app": "db"}), False),
        (resources(selector={"matchLabels": {"a*": "*"}}), pod_of(labels={"app": "db"}), True),
        (resources(selector={"matchLabels": {"a*": "*"}}), pod_of(labels={"tier": "db"}), False),
        (resources(annotations={"team": "*"}), annotated(team="a"), True),
        (resources(annotations={"team": "*"}), pod_of(), False),
        (resources(annotations={"te*": "a*"}), annotated(team="ab"), True),
        (resources(annotations={"te*": "a*"}), annotated(team="b"), False),
        (resources(annotations={"team": "a"}), annotated(team="b"), False),
    ],
)
@pytest.mark.parametrize("form", ["any", "all", "old"])
def test_an_entry(entry: JSONObject, obj: JSONObject, expected: bool, form: str) -> None:
    match = entry if form == "old" else {form: [entry]}
    assert applies(match, obj) is expected


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ({"kind": "User", "name": "ann"}, True),
        ({"kind": "User", "name": "a*"}, True),
        ({"kind": "User", "name": "bob"}, False),
        ({"kind": "Group", "name": "dev"}, True),
        ({"kind": "Group", "name": "de?"}, True),
        ({"kind": "Group", "name": "ops"}, False),
        ({"kind": "ServiceAccount", "name": "deployer", "namespace": "ci"}, True),
        ({"kind": "ServiceAccount", "name": "other", "namespace": "ci"}, False),
    ],
)
def test_subjects(subject: JSONObject, expected: bool) -> None:
    who = ACCOUNT if subject["kind"] == "ServiceAccount" else ANN
    match = {"any": [{**resources(), "subjects": [subject]}]}
    assert applies(match, pod_of(), **who) is expected
    everything = {"any": [resources()]}
    excluded = {"any": [{"subjects": [subject]}]}
    assert applies(everything, pod_of(), excluded, **who) is not expected


@pytest.mark.parametrize(
    ("match", "applied"),
    [
        ({"any": [resources(namespaces=["prod-*"]), resources("Secret")]}, [True, True, False]),
        (
            {"all": [resources(namespaces=["prod-*"]), {"resources": {"names": ["web"]}}]},
            [True, False, False],
        ),
    ],
)
def test_several_entries(match: JSONObject, applied: list[bool]) -> None:
    assert [applies(match, each) for each in (IN_PROD, SECRET, pod_of())] == applied


@pytest.mark.parametrize(
    ("exclude", "obj", "expected"),
    [
        ({"any": [resources("Secret")]}, pod_of(), True),
        ({"any": [resources("Pod")]}, pod_of(), False),
        ({"any": [{"resources": {"namespaces": ["default"]}}]}, pod_of(), False),
        ({"any": [{"resources": {"namespaces": ["default"]}}]}, IN_PROD, True),
        ({"any": [resources("Pod", namespaces=["default"])]}, SECRET, True),
        ({"any": [{"resources": {"names": ["db", "web"]}}]}, pod_of(), False),
        (
            {"any": [{"resources": {"namespaces": ["a"]}}, resources(names=["web"])]},
            pod_of(),
            False,
        ),
        ({"all": [{"resources": {"namespaces": ["a"]}}, resources(names=["web"])]}, pod_of(), True),
        (
            {"all": [{"resources": {"namespaces": ["default"]}}, resources(names=["web"])]},
            pod_of(),
            False,
        ),
        ({"resources": {"namespaces": ["default"]}}, pod_of(), False),
        ({"any": [{"resources": {"operations": ["CREATE"]}}]}, pod_of(), False),
        ({"any": [{"resources": {"operations": ["DELETE"]}}]}, pod_of(), True),
    ],
)
def test_exclusions(exclude: JSONObject, obj: JSONObject, expected: bool) -> None:
    match = {"any": [{"resources": {"kinds": ["Pod", "Secret"]}}]}
    assert applies(match, obj, exclude) is expected


def test_a_label_that_an_update_adds_does_not_exclude_it() -> None:
    exclude = {"any": [{"resources": {"selector": {"matchLabels": {"skip": "true"}}}}]}
    match = {"any": [resources()]}
    skipped = pod_of(labels={"skip": "true"})
    assert applies(match, skipped, exclude, old=pod_of())
    assert not applies(match, skipped, exclude, old=skipped)
    assert not applies(match, skipped, exclude)


def test_cluster_administrators() -> None:
    policy = cluster_policy(
        matching({"any": [resources()]}, {"any": [{"clusterRoles": ["cluster-admin"]}]})
    )
    assert imported(policy).state == "with remarks"
    assert not allows(policy, pod_of(), user="ann")
    assert allows(policy, pod_of(), [{"user": "root"}], user="root")


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE"])
def test_operations_of_an_entry(operation: str) -> None:
    match = {"any": [resources(operations=["UPDATE", "DELETE"])]}
    assert applies(match, pod_of(), operation=operation) is (operation != "CREATE")


def test_selectors_of_one_entry_become_selectors() -> None:
    selector = {"matchLabels": {"app": "web"}}
    spec = spec_of(
        cluster_policy(
            matching({"any": [resources(selector=selector, namespaceSelector=selector)]})
        )
    )
    assert spec["matchConstraints"]["objectSelector"] == selector
    assert spec["matchConstraints"]["namespaceSelector"] == selector
    assert "matchConditions" not in spec


def test_an_excluded_label_of_the_namespace_is_the_opposite_requirement() -> None:
    excluded = {"any": [{"resources": {"namespaceSelector": {"matchLabels": {"team": "a"}}}}]}
    spec = spec_of(cluster_policy(matching({"any": [resources()]}, excluded)))
    assert spec["matchConstraints"]["namespaceSelector"] == {
        "matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]
    }


def test_a_namespaced_policy_is_for_its_namespace() -> None:
    policy = cluster_policy(matching({"any": [resources()]}))
    policy |= {"kind": "Policy", "metadata": {"name": "p", "namespace": "prod-eu"}}
    assert not allows(policy, IN_PROD)
    assert allows(policy, pod_of())


def defined(kind: str, plural: str, group: str) -> JSONObject:
    return definition(kind, group, {}, names={"kind": kind, "plural": plural})


def test_a_custom_kind_has_the_plural_of_its_definition() -> None:
    bus = defined("Bus", "buses-of-town", "example.com")
    policy = cluster_policy(matching({"any": [resources("Bus")]}))
    [found] = spec_of(policy, bus)["matchConstraints"]["resourceRules"]
    assert (found["apiGroups"], found["resources"]) == (["example.com"], ["buses-of-town"])
    [guessed] = spec_of(policy)["matchConstraints"]["resourceRules"]
    assert (guessed["apiGroups"], guessed["resources"]) == (["*"], ["buses"])


@pytest.mark.parametrize(
    ("kind", "resource", "expected"),
    [
        ("Service", "v1/services", False),
        ("Service", "serving.example.com/v1/knservices", False),
        ("Service", "other.example.com/v1/services", True),
        ("Service", "serving.example.com/v1/services", True),
        ("v1/Service", "v1/services", False),
        ("serving.example.com/*/Service", "v1/services", True),
        ("serving.example.com/*/Service", "serving.example.com/v1/knservices", False),
    ],
)
def test_kinds_of_one_name_are_each_the_resource_of_their_group(
    kind: str, resource: str, expected: bool
) -> None:
    home, _, _ = resource.rpartition("/")
    found = "Service" if resource in ("v1/services", f"{home}/knservices") else "Other"
    obj = {"apiVersion": home, "kind": found, "metadata": {"name": "a"}}
    policy = cluster_policy(matching({"any": [resources(kind)]}))
    other = defined("Service", "knservices", "serving.example.com")
    review = build(obj, resource=resource)
    assert (messages(imported(policy, other), review) == []) is expected


@pytest.mark.parametrize("spec", BROKEN_DEFINITIONS)
def test_a_definition_that_is_invalid_is_not_used(spec: JSON) -> None:
    broken = {**defined("Bus", "buses-of-town", "example.com"), "spec": spec}
    policy = cluster_policy(matching({"any": [resources("Bus")]}))
    [guessed] = spec_of(policy, broken)["matchConstraints"]["resourceRules"]
    assert guessed["resources"] == ["buses"]


@pytest.mark.parametrize(
    ("kind", "groups", "versions", "names", "operations"),
    [
        ("Pod", [""], ["v1"], ["pods", "pods/ephemeralcontainers"], None),
        ("Pod/exec", [""], ["v1"], ["pods/exec"], ["CONNECT"]),
        ("PodExecOptions", [""], ["v1"], ["pods/exec"], ["CONNECT"]),
        ("Deployment/scale", ["apps"], ["*"], ["deployments/scale"], None),
        ("apps/v1/Deployment", ["apps"], ["v1"], ["deployments"], None),
        ("networking.k8s.io/*/Ingress", ["networking.k8s.io"], ["*"], ["ingresses"], None),
        ("*/*", ["*"], ["*"], ["*/*"], [*WRITES, "CONNECT"]),
        ("*", ["*"], ["*"], ["*"], None),
        ("*/scale", ["*"], ["*"], ["*/scale"], None),
        ("*/exec", ["*"], ["*"], ["*/exec"], ["CONNECT"]),
        ("*/Pod/exec", [""], ["v1"], ["pods/exec"], ["CONNECT"]),
        ("Pod.status", [""], ["v1"], ["pods/status"], None),
        ("Pod/*", [""], ["v1"], ["pods/*"], [*WRITES, "CONNECT"]),
        ("v10/Gadget", ["*"], ["v10"], ["gadgets"], None),
        ("v1beta12/Gadget", ["*"], ["v1beta12"], ["gadgets"], None),
        ("example.com/v1/Gadget/scale", ["example.com"], ["v1"], ["gadgets/scale"], None),
        ("example.com/v1/Pod", ["example.com"], ["v1"], ["pods"], None),
    ],
)
def test_a_kind_is_a_resource(
    kind: str, groups: list[str], versions: list[str], names: list[str], operations: JSON
) -> None:
    policy = cluster_policy(matching({"any": [resources(kind)]}))
    spec = spec_of(policy)
    [found] = spec["matchConstraints"]["resourceRules"]
    assert (found["apiGroups"], found["apiVersions"]) == (groups, versions)
    assert found["resources"] == names
    assert found["operations"] == (operations or WRITES)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("*/v1/Pod", "selects the subresource Pod of the kind v1"),
        ("networking.k8s.io/Ingress", "selects the subresource Ingress"),
        ("v1beta/Pod", "selects the subresource Pod of the kind v1beta"),
        ("pods", "selects the kind pods, which nothing has"),
        ("Pod/scale", "selects the subresource scale, which pods lack"),
        ("*/pods", "selects the subresource pods of every kind"),
        ("Pod/ex*", "wildcards in the subresource"),
        ("*Set/scale", "a subresource of kinds with wildcards"),
        ("a/b/c/d/e", "does not name a kind"),
    ],
)
@pytest.mark.parametrize("block", ["match", "exclude"])
def test_what_selects_nothing_is_refused(kind: str, why: str, block: str) -> None:
    blocks = {"match": {"any": [resources()]}, block: {"any": [resources(kind)]}}
    found = reason(cluster_policy(matching(blocks["match"], blocks.get("exclude"))))
    assert f"spec.rules[0].{block}.any[0].resources.kinds[0]: " in found
    assert why in found


@pytest.mark.parametrize("kind", ["Gadget", "v1/Gadget", "example.com/v1/Pod"])
def test_a_resource_that_is_a_guess_has_a_remark(kind: str) -> None:
    [remark] = imported(cluster_policy(matching({"any": [resources(kind)]}))).remarks
    assert remark.path == "spec.rules[0].match"
    excluded = matching({"any": [resources()]}, {"any": [resources(kind)]})
    [other] = imported(cluster_policy(excluded)).remarks
    assert (other.path, other.message) == ("spec.rules[0].exclude", remark.message)
    assert f"has the kind {kind.rpartition('/')[2]}" in remark.message
    assert "did you mean" not in remark.message


def test_a_misspelt_kind_is_corrected() -> None:
    [remark] = imported(cluster_policy(matching({"any": [resources("Pods")]}))).remarks
    assert remark.message.endswith("taken for podses of any group; did you mean Pod?")


def for_subresource(obj: JSONObject, name: str, resource: str) -> JSONObject:
    """A review of an update of a subresource."""
    return build(obj, operation="UPDATE", resource=resource, subresource=name)


SCALE = for_subresource(
    {
        **thing("Scale", "autoscaling/v1", spec={"replicas": 1}),
        "metadata": {"name": "web", "namespace": "prod-eu"},
    },
    "scale",
    "apps/v1/deployments",
)
STATUS = for_subresource(IN_PROD, "status", "v1/pods")


@pytest.mark.parametrize(
    ("kinds", "review", "expected"),
    [
        (["Deployment/scale", "Secret"], SCALE, True),
        (["StatefulSet/scale", "Secret"], SCALE, False),
        (["Deployment", "Secret"], SCALE, False),
        (["*/scale", "Secret"], SCALE, True),
        (["ap*/v1/Deployment/scale", "Secret"], SCALE, True),
        (["ba*/v1/Deployment/scale", "Secret"], SCALE, False),
        (["apps/v*/Deployment/scale"], SCALE, True),
        (["apps/v2*/Deployment/scale"], SCALE, False),
        (["Pod/status", "Secret"], STATUS, True),
        (["Pod", "Secret"], STATUS, False),
        (["*", "Secret"], STATUS, False),
        (["Pod/*", "Secret"], STATUS, True),
        (["*/*", "Secret"], STATUS, True),
        (["Pod/status", "Pod"], build(IN_PROD), True),
        (["Pod/status", "Secret"], build(IN_PROD), False),
        (["Pod/*", "Secret"], build(IN_PROD), False),
    ],
)
@pytest.mark.parametrize("several", [False, True])
def test_subresources_are_told_apart(
    kinds: list[str], review: JSONObject, expected: bool, several: bool
) -> None:
    inside = {"namespaces": ["prod-*"]}
    entries = [{"resources": {"kinds": [each], **inside}} for each in kinds]
    if not several:
        entries = [{"resources": {"kinds": kinds, **inside}}]
    if several:  # the other one names a subresource, and does not fit
        entries.append({"resources": {"kinds": ["Service/status"], "namespaces": ["other"]}})
    policy = imported(cluster_policy(matching({"any": entries})))
    assert bool(messages(policy, review)) is expected


@pytest.mark.parametrize(
    ("match", "why"),
    [
        ({"any": [{**resources(), "roles": ["dev:admin"]}]}, "roles of its user"),
        ({"any": [{**resources(), "clusterRoles": ["view"]}]}, "cluster roles of its user"),
        ({"any": [{"subjects": [{"kind": "User", "name": "a"}]}]}, "names no kinds"),
        ({"any": [resources(color="red")]}, "resources.color"),
        ({"some": [resources()]}, "match.some"),
        (
            {"any": [resources(namespaceSelector={"matchLabels": {"a": "b*"}})]},
            "compared with wildcards",
        ),
    ],
)
def test_what_a_request_does_not_show_is_refused(match: JSONObject, why: str) -> None:
    assert why in reason(cluster_policy(matching(match)))

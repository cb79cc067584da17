"""Advice on mutations that write what the API server does not store for their resources."""

import pytest

from policyd.json_types import JSON, JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.mutations.dropped import dropped
from policyd.policy.lint.run import LintRun
from tests.builders.objects import gadget_definition
from tests.builders.policies import (
    DEPLOYMENTS,
    EVERYTHING,
    PODS,
    apply_configuration,
    json_patch,
    map_,
    overlay,
    policy,
    rule,
)
from tests.policy_sets import loaded

STATUS = rule("pods/status")
EPHEMERAL = rule("pods/ephemeralcontainers")
RESIZE = rule("pods/resize")
SCALE = rule("deployments/scale", group="apps")
LABEL = overlay({"metadata": {"labels": {"a": "b"}}})


def add(path: str, value: str = "'x'") -> JSONObject:
    return json_patch(f"[JSONPatch{{op: 'add', path: {path}, value: {value}}}]")


def told(
    mutations: list[JSONObject], *rules: JSONObject, **spec: JSON
) -> list[tuple[str, str, str]]:
    """Path, message and hint of each advice."""
    definition = gadget_definition()
    for version in definition["spec"]["versions"]:
        version["subresources"] = {"status": {}}
    found = list(
        in_policies(
            LintRun(loaded(policy("p", *rules, mutations=mutations, **spec), definition)), dropped
        )
    )
    assert all(each.rule == "dropped-write" and each.severity == "advice" for each in found)
    assert all(each.line and each.excerpt for each in found)
    return [(each.path, each.message, each.hint) for each in found]


KEPT = {
    "pods/status": "only status and metadata (without ownerReferences)",
    "deployments/status": "only status and metadata (without labels)",
    "gadgets/status": "only status",
    "nodes/status": "only status and metadata",
    "*/status": "only status and metadata",
    "pods/ephemeralcontainers": "only spec.ephemeralContainers",
    "pods/resize": "only spec.containers[*].resources, spec.containers[*].resizePolicy, "
    "spec.initContainers[*].resources, spec.initContainers[*].resizePolicy, spec.resources and "
    "spec.volumes",
    "deployments/scale": "only spec.replicas",
    "pods/eviction": "only deleteOptions",
    "pods/binding": "only target and metadata (without finalizers and ownerReferences)",
    "pods": "everything but status",
    "gadgets": "everything but status",
}
# The mutation, the rule, what is lost, and what the hint names.
LOST: list[tuple[JSONObject, JSONObject, str, str, str]] = [
    (add("'/spec/nodeName'"), STATUS, "spec.nodeName", "pods/status", "match pods"),
    (add("'/spec/tolerations/-'", "{'key': 'a'}"), STATUS, "spec.tolerations[*]", "pods/status", "match pods"),
    (overlay({"metadata": {"ownerReferences": []}}), STATUS, "metadata.ownerReferences", "pods/status", "match pods"),
    (LABEL, rule("deployments/status", group="apps"), "metadata.labels.a", "deployments/status", "match deployments"),
    (LABEL, rule("gadgets/status", group="example.com"), "metadata.labels.a", "gadgets/status", "match gadgets"),
    (add("'/spec/unschedulable'", "true"), rule("nodes/status"), "spec.unschedulable", "nodes/status", "match nodes"),
    (add("'/spec/x'"), rule("*/status", group="*", version="*"), "spec.x", "*/status", "write what is stored"),
    (LABEL, EPHEMERAL, "metadata.labels.a", "pods/ephemeralcontainers", "match pods"),
    (overlay({"spec": {"containers": [{"(name)": "*", "image": "x"}]}}), EPHEMERAL, "spec.containers[*].image",
     "pods/ephemeralcontainers", "match pods"),
    (add("'/spec/containers/' + string(0) + '/image'"), RESIZE, "spec.containers[*].image", "pods/resize", "match pods"),
    (add("'/status/phase'"), RESIZE, "status.phase", "pods/resize", "match pods/status"),
    (apply_configuration("Object{metadata: Object.metadata{labels: {'a': 'b'}}}"), SCALE, "metadata.labels.a",
     "deployments/scale", "match deployments"),
    (add("'/metadata/labels/' + jsonpatch.escapeKey('a/b')"), rule("pods/eviction"), "metadata.labels[a/b]", "pods/eviction", "match pods"),
    (add("'/metadata/finalizers'", "['x']"), rule("pods/binding"), "metadata.finalizers", "pods/binding", "match pods"),
    (LABEL, {**rule("deployments/status"), "apiGroups": ["", "apps"]}, "metadata.labels.a", "deployments/status",
     "match deployments"),
    # The resource itself has a status of its own.
    (overlay({"status": {"phase": "Failed"}}), PODS, "status.phase", "pods", "match pods/status"),
    (add("'/status/x'"), rule("gadgets", group="example.com"), "status.x", "gadgets", "match gadgets/status"),
]  # fmt: skip


@pytest.mark.parametrize(("mutation", "match", "lost", "name", "hint"), LOST)
def test_what_is_lost(
    mutation: JSONObject, match: JSONObject, lost: str, name: str, hint: str
) -> None:
    message = f"{lost} is lost: the API server keeps {KEPT[name]} of requests to {name}"
    assert [each[1:] for each in told([mutation], match)] == [(message, hint)]


STORED: list[tuple[list[JSONObject], list[JSONObject]]] = [
    ([add("'/status/phase'")], [STATUS]),
    ([LABEL], [STATUS]),
    ([overlay({"spec": {"ephemeralContainers": [{"(name)": "*", "imagePullPolicy": "Always"}]}})], [EPHEMERAL]),
    ([overlay({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]}})], [RESIZE]),
    ([apply_configuration("Object{spec: Object.spec{containers: object.spec.containers.map(c, "
                          "Object.spec.containers{name: c.name, resources: Object.spec.containers.resources{limits: {'cpu': '1'}}})}}")],
     [RESIZE]),
    ([add("'/spec/replicas'", "1")], [SCALE]),
    ([add("'/spec/' + request.name")], [EPHEMERAL]),  # unknown
    ([json_patch("[JSONPatch{op: 'test', path: '/spec/nodeName', value: 'x'}]")], [STATUS]),
    ([overlay({"(spec)": {"nodeName": "x"}, "status": {"phase": "Failed"}})], [STATUS]),
    ([add("'/status/phase'")], [rule("nodes")]),  # the kubelet creates nodes with a status
    ([add("'/status/x'")], [rule("configmaps")]),
    ([add("'/status/x'")], [EVERYTHING]),
    ([add("'/spec/x'")], [rule("pods/*")]),
    ([add("'/command/0'")], [rule("pods/exec", operations=["CONNECT"])]),
    # Something is stored for each resource.
    ([overlay({"spec": {"containers": [{"(name)": "*", "image": "x"}], "ephemeralContainers": [{"(name)": "*", "image": "x"}]}})],
     [PODS, EPHEMERAL]),
    ([add("'/spec/nodeName'"), add("'/status/phase'")], [PODS, STATUS]),
    ([LABEL], [PODS, STATUS]),
    ([add("'/spec/nodeName'")], [PODS, rule("pods/status", operations=["CREATE"])]),
]  # fmt: skip


@pytest.mark.parametrize(("mutations", "rules"), STORED)
def test_what_is_stored(mutations: list[JSONObject], rules: list[JSONObject]) -> None:
    assert told(mutations, *rules) == []


IDLE = (
    "spec.matchConstraints.resourceRules[1].resources[0]",
    "the API server keeps only spec.ephemeralContainers of requests to pods/ephemeralcontainers: "
    "nothing that the policy writes",
    "remove pods/ephemeralcontainers",
)


def test_a_subresource_that_stores_nothing_of_what_a_policy_writes() -> None:
    assert told([LABEL, add("'/spec/nodeName'")], PODS, EPHEMERAL) == [IDLE]
    assert told([LABEL, add("'/spec/replicas'", "1")], DEPLOYMENTS, SCALE) == []
    (found,) = told([LABEL], DEPLOYMENTS, SCALE)
    assert found[2] == "remove deployments/scale"


def test_a_subresource_may_be_matched_for_other_reasons() -> None:
    validations: JSON = [{"expression": "object.spec.?ephemeralContainers.orValue([]) == []"}]
    assert told([LABEL], PODS, EPHEMERAL, validations=validations) == []
    condition: JSON = [{"name": "c", "expression": "request.?subResource.orValue('') == ''"}]
    assert told([LABEL], PODS, EPHEMERAL, matchConditions=condition) == []
    assert len(told([LABEL], EPHEMERAL, validations=validations)) == 1  # lost in any case


def test_each_write_is_reported_once_for_a_mutation() -> None:
    twice = add("'/spec/nodeName'")["jsonPatch"]["expression"]
    found = told([json_patch(f"{twice} + {twice}"), add("'/spec/nodeName'")], STATUS)
    assert [path for path, _, _ in found] == [
        "spec.mutations[0].jsonPatch.expression",
        "spec.mutations[1].jsonPatch.expression",
    ]


def test_mutating_admission_policies() -> None:
    (found,) = in_policies(
        LintRun(loaded(map_("m", STATUS, mutations=[add("'/spec/nodeName'")]))), dropped
    )
    assert found.message.startswith("spec.nodeName is lost")

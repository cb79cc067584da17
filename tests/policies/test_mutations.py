"""The mutations of the library go together: over recorded objects none fails, none overwrites what
another wrote, a second run changes nothing, and what comes out is what Kubernetes can decode.

That a real API server accepts it is tested in ``tests/e2e/test_library.py``.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.mutation.decoding import decoded
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.suite.reviews import build_review
from tests import shared
from tests.policies.mutating import Mutated, mutated, together, with_object
from tests.shared import ROOT

LIBRARY = ROOT / "policies" / "mutation"
NAMES = {each.parent.name for each in LIBRARY.rglob("policy.yaml")}
LABELS = {"example.com/node-pool": "batch", "example.com/team": "bakery"}
OPERATIONS = ("CREATE", "UPDATE")


def bodies() -> list[JSONObject]:
    """The hundred pods of the benchmark."""
    return shared.rows(ROOT / "tools/bench/data/bodies.jsonl.gz")


def load_pods() -> list[JSONObject]:
    """Realistic pods, recorded."""
    return shared.reviews("load-pods.jsonl")


def recorded() -> list[JSONObject]:
    """Every kind of object and subresource, as an API server sent it."""
    return [row["review"] for row in shared.reviews()]


def large() -> list[JSONObject]:
    """Big ones."""
    return [row["review"] for row in shared.reviews("large.jsonl.gz")]


def knowing(reviews: Iterable[JSONObject]) -> CompiledPolicySet:
    """The whole library, and the namespaces of some reviews, all with the labels that it reads."""
    names = {each["request"].get("namespace") or "default" for each in reviews}
    metadata = [
        {"name": name, "labels": LABELS, "annotations": {"example.com/contact": "us@example.com"}}
        for name in sorted(names)
    ]
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": each} for each in metadata]
    return together([LIBRARY], namespaces)


def settled(policies: CompiledPolicySet, review: JSONObject) -> Mutated:
    """What all of them make of an object, which must be the end of it."""
    once = mutated(policies, review)
    assert once.told == []
    again = mutated(policies, with_object(review, once.object))
    assert again.told == []
    assert again.operations == []
    if once.operations:
        kind = review["request"]["kind"]
        target = policies.schemas.target((kind["group"], kind["version"], kind["kind"]))
        assert decoded(once.object, review["request"]["object"], target) == once.object
    return once


@pytest.mark.parametrize("source", [bodies, load_pods, recorded, large])
def test_recorded_objects_are_settled_by_all_of_them(
    source: Callable[[], list[JSONObject]],
) -> None:
    reviews = [
        each
        for each in source()
        if each["request"]["operation"] in OPERATIONS and each["request"].get("object")
    ]
    policies = knowing(reviews)
    changed = Counter(bool(settled(policies, review).operations) for review in reviews)
    print(f"{changed.total()} passed of {changed.total()}, {changed[True]} changed")
    assert changed[True] or source is large


RESTRICTED = {"securityContext": {"readOnlyRootFilesystem": True}}
EVERYTHING: JSONObject = {
    "metadata": {
        "name": "web",
        "labels": {"app": "web"},
        "annotations": {"scheduler.alpha.kubernetes.io/critical-pod": ""},
    },
    "spec": {
        "initContainers": [
            {"name": "setup", "image": "setup", **RESTRICTED},
            {"name": "proxy", "image": "quay.io/proxy:1", "restartPolicy": "Always"},
        ],
        "containers": [
            {"name": "web", "image": "registry.example.com/web:1", **RESTRICTED},
            {"name": "gpu", "image": "gpu", "resources": {"limits": {"nvidia.com/gpu": "1"}}},
        ],
    },
}
# What is left alone in a pod, by the policies that do not change it.
PODS: list[tuple[str, JSONObject, set[str]]] = [
    ("a pod with everything", EVERYTHING, set()),
    (
        "the least that is a pod",
        {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
        {
            "default-topology-spread",
            "drop-deprecated-annotations",
            "extended-resource-tolerations",
            "image-pull-secret",
            "writable-tmp",
        },
    ),
    (
        "a pod for Windows",
        {**EVERYTHING, "spec": {**EVERYTHING["spec"], "os": {"name": "windows"}}},
        {"default-security-context"},
    ),
    (
        "a pod that asks as a whole, on a node already",
        {
            **EVERYTHING,
            "spec": {**EVERYTHING["spec"], "nodeName": "a", "resources": {"limits": {"cpu": "1"}}},
        },
        {"default-resources", "node-selector-from-namespace"},
    ),
    (
        "what says everything itself",
        {
            "metadata": {
                "name": "web",
                "labels": {
                    "app": "web",
                    "app.kubernetes.io/managed-by": "us",
                    "example.com/environment": "test",
                    "example.com/team": "us",
                },
                "annotations": {"example.com/contact": "us"},
            },
            "spec": {
                "nodeSelector": {"example.com/node-pool": "gpu"},
                "securityContext": {"seccompProfile": {"type": "Unconfined"}},
                "tolerations": [{"operator": "Exists"}],
                "topologySpreadConstraints": [
                    {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
                ],
                "containers": [
                    {
                        "name": "web",
                        "image": "ghcr.io/us/web:1",
                        "imagePullPolicy": "Always",
                        "securityContext": {"privileged": True, "readOnlyRootFilesystem": True},
                        "resources": {
                            "requests": {"cpu": "1", "memory": "1Gi"},
                            "limits": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
                        },
                        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
                    }
                ],
                "volumes": [{"name": "tmp", "emptyDir": {}}],
            },
        },
        NAMES,
    ),
]


@pytest.mark.parametrize(("pod", "idle"), [row[1:] for row in PODS], ids=[row[0] for row in PODS])
def test_all_others_change_the_pod_together(pod: JSONObject, idle: set[str]) -> None:
    review = build_review({"apiVersion": "v1", "kind": "Pod", **pod}, operation="CREATE")
    once = settled(knowing([review]), review)
    assert once.by.keys() == NAMES - idle


# Of a template only what its own controller must know.
TEMPLATES: list[tuple[str, str, set[str]]] = [
    ("DaemonSet", "CREATE", {"extended-resource-tolerations", "node-selector-from-namespace"}),
    ("DaemonSet", "UPDATE", {"extended-resource-tolerations", "node-selector-from-namespace"}),
    ("Deployment", "CREATE", set()),
    ("Deployment", "UPDATE", set()),
    ("StatefulSet", "CREATE", set()),
]


@pytest.mark.parametrize(("kind", "operation", "changing"), TEMPLATES)
def test_templates_are_changed_for_daemon_sets_only(
    kind: str, operation: Any, changing: set[str]
) -> None:
    template = {"metadata": EVERYTHING["metadata"], "spec": EVERYTHING["spec"]}
    thing = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web"},
        "spec": {"template": template},
    }
    old = thing if operation == "UPDATE" else None
    review = build_review(thing, old_object=old, operation=operation)
    once = settled(knowing([review]), review)
    assert once.by.keys() == {"default-labels", *changing}
    same = once.object["spec"]["template"] == template
    assert same is not bool(changing)

"""Whatever a field of a source contains, the import refuses it with a reason and raises nothing."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.cli.importing.texts import document_text
from policyd.importers.all import convert_all
from policyd.importers.checking import checked
from policyd.json_types import JSON, JSONObject
from policyd.versions import NEWEST
from tests.builders.policies import apply_configuration, rule
from tests.importers.converting import JUNK, document, places, replaced
from tests.importers.gatekeeper.builders import constraint, mutator, template
from tests.importers.kyverno.classic import cluster_policy, equals, pattern, rule_of

PODS = {
    "resourceRules": [rule("pods", operations=["CREATE"])],
    "objectSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
}
PLAIN = {"resourceRules": PODS["resourceRules"]}
METADATA = {
    "name": "p",
    "labels": {"a": "b"},
    "annotations": {"policies.kyverno.io/description": "a"},
}
TESTS = [{"name": "a", "expression": "object.metadata.name != 'a'"}]
CEL: JSONObject = {
    "matchConditions": TESTS,
    "variables": [{"name": "v", "expression": "1"}],
    "failurePolicy": "Fail",
}
KYVERNO: JSONObject = {
    **CEL,
    "matchConstraints": PLAIN,
    "webhookConfiguration": {"timeoutSeconds": 5},
    "evaluation": {"background": {"enabled": True}, "admission": {"enabled": True}},
    "autogen": {"podControllers": {"controllers": ["deployments"]}},
}
CHECKS: JSONObject = {
    "validations": [{"expression": "variables.v == 1", "message": "no", "reason": "Invalid"}],
    "auditAnnotations": [{"key": "k", "valueExpression": "'a'"}],
}
PATCH: JSONObject = {
    "mutations": [apply_configuration("Object{metadata: Object.metadata{}}")],
    "reinvocationPolicy": "Never",
}


def made(api_version: str, kind: str, spec: JSONObject, **metadata: str) -> JSONObject:
    named = {**METADATA, **metadata}
    return {"apiVersion": api_version, "kind": kind, "metadata": named, "spec": spec}


KUBERNETES, POLICIES = "admissionregistration.k8s.io/v1", "policies.kyverno.io/v1"
BINDING: JSONObject = {
    "policyName": "p",
    "matchResources": PODS,
    "validationActions": ["Deny"],
    "paramRef": {"name": "a", "parameterNotFoundAction": "Deny"},
}
CODE = {
    "variables": [{"name": "v", "expression": "1"}],
    "validations": [{"expression": "variables.v == 1", "message": "no"}],
}
CONSTRAINT: JSONObject = {
    "match": {
        "kinds": [{"apiGroups": [""], "kinds": ["Pod"]}],
        "namespaces": ["a"],
        "labelSelector": {"matchLabels": {"a": "b"}},
    },
    "enforcementAction": "deny",
    "parameters": {"a": "b"},
}
LOCATION = "spec.containers[name: *].image"
MATCH: JSONObject = {"scope": "Namespaced", "kinds": [{"apiGroups": ["*"], "kinds": ["Pod"]}]}
ASSIGN: JSONObject = {
    "assign": {"value": "a"},
    "pathTests": [{"subPath": "spec", "condition": "MustExist"}],
}
VALUES: JSONObject = {"operation": "merge", "values": {"fromList": ["a"]}}
EXCEPTION = made(
    POLICIES,
    "PolicyException",
    {
        "policyRefs": [{"name": "p", "kind": "ValidatingPolicy"}],
        "matchConditions": [{"name": "a", "expression": "object.metadata.name == 'a'"}],
    },
)
SHARED = made(
    "kyverno.io/v2",
    "GlobalContextEntry",
    {
        "kubernetesResource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "apiCall": {"urlPath": "/api/v1/nodes"},
        "projections": [{"name": "n", "jmesPath": "length(@)"}],
    },
    name="shared",
)
CALL: JSONObject = {
    "urlPath": "/api/v1/namespaces/{{ request.namespace }}/configmaps/a",
    "method": "GET",
    "jmesPath": "data.a",
    "default": "a",
}
CONTEXT = [
    {"name": "x", "apiCall": CALL},
    {"name": "y", "globalReference": {"name": "shared.n", "jmesPath": "to_string(@)"}},
]
DENIED = {"deny": {"conditions": equals("{{ x }}{{ y }}", "a")}}
SOURCES: dict[str, list[JSONObject]] = {
    "ValidatingPolicy": [
        made(POLICIES, "ValidatingPolicy", KYVERNO | CHECKS | {"validationActions": ["Deny"]}),
        EXCEPTION,
    ],
    "MutatingPolicy": [made(POLICIES, "MutatingPolicy", KYVERNO | PATCH)],
    "ValidatingAdmissionPolicy": [
        made(
            KUBERNETES,
            "ValidatingAdmissionPolicy",
            {**CEL, **CHECKS, "matchConstraints": PODS, "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}},
        ),
        made(KUBERNETES, "ValidatingAdmissionPolicyBinding", BINDING, name="b"),
    ],
    "MutatingAdmissionPolicy": [
        made(KUBERNETES, "MutatingAdmissionPolicy", {**CEL, **PATCH, "matchConstraints": PODS}),
        made(KUBERNETES, "MutatingAdmissionPolicyBinding", {"policyName": "p"}, name="b"),
    ],
    "ConstraintTemplate": [template(CODE), constraint(**CONSTRAINT)],
    "Assign": [mutator("Assign", LOCATION, ASSIGN, MATCH)],
    "ModifySet": [mutator("ModifySet", LOCATION, VALUES, MATCH)],
    "PolicyException": [
        made(
            "kyverno.io/v2",
            "PolicyException",
            {
                "exceptions": [{"policyName": "q", "ruleNames": ["r"]}],
                "match": {"any": [{"resources": {"kinds": ["Pod"], "names": ["a"]}}]},
            },
        ),
        cluster_policy(pattern({"spec": {"a": "b"}}), name="q"),
    ],
    "GlobalContextEntry": [cluster_policy(rule_of(DENIED, context=CONTEXT)), SHARED],
}  # fmt: skip


@pytest.mark.parametrize("kind", SOURCES)
def test_the_sources_are_imported(kind: str) -> None:
    for each in convert_all([document(raw) for raw in SOURCES[kind]]):
        assert each.documents, each.reasons


@pytest.mark.parametrize("kind", SOURCES)
def test_any_value_anywhere(kind: str) -> None:
    sources = SOURCES[kind]
    given = [document(raw) for raw in sources]
    for number, raw in enumerate(sources):
        for place in places(raw):
            for junk in JUNK:
                one = given.copy()
                one[number] = replace(given[number], raw=replaced(raw, place, junk))
                for each in convert_all(one):
                    assert bool(each.documents) is not bool(each.reasons), (place, junk)


KEYS = st.sampled_from(
    [
        "kind",
        "apiVersion",
        "metadata",
        "labels",
        "spec",
        "containers",
        "name",
        "",
        "+labels",
        "$patch",
        "(kind)",
        "=(metadata)",
        "X(spec)",
        "<(kind)",
        "^(containers)",
        "+(labels)",
        "()",
    ]
)
LEAVES = st.sampled_from(
    [
        None,
        True,
        0,
        1.5,
        "",
        "!Pod",
        "Pod",
        "!",
        "<5",
        "1-5",
        "?*",
        "a...",
        "a\nb\u2028",
        "{{ request.name }}",
    ]
)
TREES: st.SearchStrategy[JSON] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=5,
)
BODIES: list[Callable[[JSON], JSONObject]] = [
    lambda tree: {"validate": {"message": "a...", "pattern": tree}},
    lambda tree: {"validate": {"anyPattern": [tree]}},
    lambda tree: {"validate": {"foreach": [{"list": "request.object.spec.containers", "pattern": tree}]}},
    lambda tree: {"validate": {"foreach": [{"list": "request.object.spec.a", "anyPattern": [tree]}]}},
    lambda tree: {"mutate": {"patchStrategicMerge": tree}},
    lambda tree: {"mutate": {"foreach": [{"list": "request.object.spec.containers", "patchStrategicMerge": tree}]}},
]  # fmt: skip


@given(st.sampled_from(BODIES), TREES)
def test_any_pattern(body: Callable[[JSON], JSONObject], tree: JSON) -> None:
    rule = {"name": "r", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, **body(tree)}
    [found] = convert_all([document(cluster_policy(rule))])
    assert bool(found.documents) is not bool(found.reasons)
    for each in checked(found, NEWEST).imported.documents:
        document_text(each)

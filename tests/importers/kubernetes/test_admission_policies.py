"""A policy of Kubernetes with its bindings decides the same as the Policies that it becomes.

policyd runs policies of Kubernetes as they are: that is what the result is compared with.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import policyd
from policyd.importers.kubernetes.admission_policies import convert
from policyd.importers.model import Imported
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import namespace
from tests.builders.objects import config_map, deployment, pod
from tests.builders.policies import (
    CONFIG_MAPS,
    EVERYTHING,
    PODS,
    WORKLOADS,
    json_patch,
    map_,
    map_binding,
    rule,
    vap,
    vap_binding,
)
from tests.importers.converting import changed, converted, messages, reason_of, spec_of

NEVER = [{"expression": "false", "message": "never"}]
SENT = [
    policyd.build_review(pod()),
    policyd.build_review(pod(labels={"app": "web"}, namespace="bank")),
    policyd.build_review(pod(), old=pod()),
    policyd.build_review(deployment()),
    policyd.build_review(config_map()),
    policyd.build_review(pod(), resource="v1/pods", subresource="ephemeralcontainers"),
]
NAMESPACES = [namespace(name, {}) for name in ("shop", "bank", "default")]


def imported(source: JSONObject, *others: JSONObject) -> Imported:
    return converted(convert, source, *others)


def test_a_policy_has_the_name_of_the_source() -> None:
    found = imported(vap(validations=NEVER), vap_binding(validationActions=["Audit", "Warn"]))
    assert spec_of(found)["validationActions"] == ["Warn", "Audit"]
    assert [each.name for each in found.documents] == ["p"]
    assert found.state == "imported"


def test_bindings_that_differ_become_policies() -> None:
    elsewhere = vap_binding("other", matchResources={"objectSelector": {"matchLabels": {"a": "b"}}})
    found = imported(vap(), vap_binding("b"), vap_binding("c"), elsewhere)
    assert [each.name for each in found.documents] == ["p-b", "p-other"]
    assert found.rules == {"": ("p-b", "p-other")}
    assert len(found.remarks) == 1


def test_parameters_are_those_of_the_binding() -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    source = vap(paramKind=kind, validations=[{"expression": "params.data.a == '2'"}])
    ref = {"name": "settings", "namespace": "shop", "parameterNotFoundAction": "Deny"}
    found = imported(source, vap_binding(paramRef=ref))
    assert spec_of(found)["paramRef"] == ref
    assert len(messages(found, SENT[0], config_map(data={"a": "1"}))) == 1


def test_mutations_are_kept() -> None:
    expression = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]"
    source = map_(mutations=[json_patch(expression)], reinvocationPolicy="IfNeeded")
    found = imported(source, map_binding())
    assert spec_of(found)["reinvocationPolicy"] == "IfNeeded"
    assert changed(found, pod())["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("source", "others", "reason"),
    [
        (vap(), [], "metadata.name: it has no ValidatingAdmissionPolicyBinding"),
        (vap(), [map_binding(policyName="p")], "metadata.name: it has no"),
        (vap(surprise=1), [vap_binding()], "spec.surprise: "),
        (vap(), [vap_binding(surprise=1)], "spec of the binding b.surprise: "),
        (vap(), [vap_binding(paramRef={"name": "a"})], "spec.paramKind: "),
        (
            vap(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}),
            [vap_binding()],
            "spec.paramKind: the binding b has no paramRef",
        ),
        (
            vap(),
            [vap_binding(matchResources={"resourceRules": [CONFIG_MAPS]})],
            "spec of the binding b.matchResources.resourceRules: no request matches",
        ),
        (
            vap(),
            [vap_binding(matchResources={"resourceRules": [PODS], "matchPolicy": "Exact"})],
            "spec of the binding b.matchResources.matchPolicy: ",
        ),
    ],
)
def test_what_cannot_be_said_is_refused(
    source: JSONObject, others: list[JSONObject], reason: str
) -> None:
    assert reason_of(imported(source, *others)).startswith(reason)


RULES = st.sampled_from(
    [
        PODS,
        WORKLOADS,
        EVERYTHING,
        rule("pods", operations=["CREATE"]),
        rule("*"),
        rule("pods/*"),
        rule("*/ephemeralcontainers", group="*", version="*"),
        rule("*/*", group="*", version="*"),
        rule("pods", resourceNames=["web"]),
        rule("pods", resourceNames=["web", "db"]),
        rule("pods", "configmaps", scope="Namespaced"),
        rule("pods", scope="Cluster"),
    ]
)
SELECTORS = st.sampled_from(
    [
        {},
        {"matchLabels": {"app": "web"}},
        {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]},
        {"matchLabels": {"kubernetes.io/metadata.name": "shop"}},
        {"matchLabels": {"kubernetes.io/metadata.name": "bank"}},
    ]
)
CONSTRAINTS = st.fixed_dictionaries(
    {"resourceRules": st.lists(RULES, min_size=1, max_size=2)},
    optional={
        "objectSelector": SELECTORS,
        "namespaceSelector": SELECTORS,
        "excludeResourceRules": st.lists(RULES, max_size=1),
    },
)


@given(CONSTRAINTS, CONSTRAINTS | st.just({}))
def test_a_request_has_to_match_the_policy_and_the_binding(
    constraints: JSONObject, resources: JSONObject
) -> None:
    source = vap(matchConstraints=constraints, validations=NEVER)
    binding = vap_binding("b", **{"matchResources": resources or None})
    native = policyd.PolicySet.from_documents(source, binding, *NAMESPACES)
    expected = [[each.message for each in native.evaluate(sent).violations] for sent in SENT]
    found = imported(source, binding)
    if found.reasons:
        assert "no request matches" in reason_of(found)
        assert expected == [[] for _ in SENT]
    else:
        assert [messages(found, sent, *NAMESPACES) for sent in SENT] == expected

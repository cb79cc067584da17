"""Nothing that an import generates is an error for objects without a namespace."""

from collections.abc import Iterator

import pytest

import policyd
from policyd.importers.all import convert_all
from policyd.json_types import JSON, JSONObject
from tests.builders.objects import metadata
from tests.builders.policies import rule
from tests.importers.converting import document, messages
from tests.importers.kyverno.classic import cluster_policy, equals, imported, matching, thing

ROLE = thing("ClusterRole", "rbac.authorization.k8s.io/v1", rules=[])
OBJECTS = (
    ROLE,
    {**ROLE, "metadata": {"generateName": "it-"}},
    thing("Namespace", metadata={"name": "team"}),
    thing("Node", spec={}),
)
LABELS = {"matchLabels": {"a": "b"}}
WITHIN: tuple[JSONObject, ...] = (
    {"namespaces": ["team"]},
    {"namespaces": ["te*", "other", "a?"]},
    {"namespaces": ["*"]},
    {"names": ["it*"], "namespaces": ["team"]},
    {"annotations": {"a": "b"}, "namespaces": ["team"]},
    {"selector": LABELS, "namespaces": ["team"]},
    {"namespaceSelector": LABELS},
    {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}},
)
ANY = {"resources": {"kinds": ["*"]}}
EVERYTHING = [rule("*", group="*", version="*", operations=["CREATE"])]
LABEL = {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}


def classic() -> Iterator[list[JSONObject]]:
    """Every filter in every place where Kyverno has one."""
    for within in WITHIN:
        entry = {"resources": {"kinds": ["*"], **within}}
        for match in (entry, {"any": [entry]}, {"all": [entry]}):
            yield [cluster_policy(matching(match))]
            mutating = matching(match, mutate=LABEL)
            del mutating["validate"]
            yield [cluster_policy(mutating)]
        if "namespaceSelector" not in within:
            yield [cluster_policy(matching({"any": [entry, {"resources": {"kinds": ["Pod"]}}]}))]
        for exclude in ({"resources": within}, {"any": [{"resources": within}]}, entry):
            if "namespaceSelector" not in within or "kinds" not in str(exclude):
                yield [cluster_policy(matching({"any": [ANY]}, exclude))]
    actions = [
        {"action": "Audit", "namespaces": ["dev-*"]},
        {"action": "Enforce", "namespaces": ["*"]},
    ]
    everything = matching({"any": [ANY]})
    yield [cluster_policy(everything, validationFailureActionOverrides=actions)]
    yield [{**cluster_policy(everything), **named("Policy", "kyverno.io/v1")}]
    for resources in ({"namespaces": ["team"]}, {"kinds": ["Pod"], "namespaces": ["team"]}):
        match = {"any": [{"resources": resources}]}
        spec = {"exceptions": [{"policyName": "p", "ruleNames": ["*"]}], "match": match}
        yield [
            cluster_policy(everything),
            {**named("PolicyException", "kyverno.io/v2"), "spec": spec},
        ]


def cel() -> Iterator[list[JSONObject]]:
    for prefix in ("", "Namespaced"):
        policy = named(f"{prefix}ValidatingPolicy", "policies.kyverno.io/v1")
        spec: JSONObject = {"matchConstraints": {"resourceRules": EVERYTHING}}
        spec["validations"] = [{"expression": "object.metadata.?labels.a.orValue('') == 'b'"}]
        yield [{**policy, "spec": spec}]


def gatekeeper() -> Iterator[list[JSONObject]]:
    for match in ({"namespaces": ["team"]}, {"excludedNamespaces": ["te*", "*"]}, {"name": "it*"}):
        for field in ("name", "namespace"):
            origin = {"assign": {"fromMetadata": {"field": field}}}
            spec = {"location": 'metadata.labels."a"', "parameters": origin, "match": match}
            mutator = named("AssignMetadata", "mutations.gatekeeper.sh/v1")
            yield [{**mutator, "spec": spec}]


def named(kind: str, api_version: str) -> JSONObject:
    namespaced = kind.startswith("Namespaced") or kind in ("Policy", "PolicyException")
    found = metadata("p", "team" if namespaced else None)
    return {"apiVersion": api_version, "kind": kind, "metadata": found}


def errors(sources: list[JSONObject]) -> JSON:
    found = convert_all([document(each) for each in sources])
    assert found[0].documents, found[0].reasons
    raw = [each.raw for one in found for each in one.documents]
    policies = policyd.PolicySet.from_documents(*raw)
    reviews = [policyd.build_review(each) for each in OBJECTS]
    results = [
        policies.evaluate(each, phase) for each in reviews for phase in ("mutate", "validate")
    ]
    return [each.message for result in results for each in result.violations if each.error] + [
        result.message for result in results if "no such key" in (result.message or "")
    ]


NAMED = "{{ request.namespace || 'none' }}"
DENIED = equals(NAMED, "prod")


def alternatives() -> Iterator[list[JSONObject]]:
    """Every place of an expression that says what it means if there is no namespace."""
    match = {"any": [ANY]}
    yield [cluster_policy(matching(match, preconditions=DENIED))]
    yield [
        cluster_policy(matching(match, validate={"message": "m", "deny": {"conditions": DENIED}}))
    ]
    yield [cluster_policy(matching(match, validate={"message": f"in {NAMED}", "deny": {}}))]
    variable = {"name": "n", "variable": {"jmesPath": "request.namespace", "default": "none"}}
    validate = {"message": "in {{ n }}", "deny": {"conditions": equals("{{ n }}", "prod")}}
    yield [cluster_policy(matching(match, context=[variable], validate=validate))]


@pytest.mark.parametrize("field", ["namespace", "subResource"])
def test_a_message_names_what_a_request_lacks_as_its_alternative(field: str) -> None:
    message = f"in {{{{ request.{field} || 'none' }}}}"
    rule = matching({"any": [ANY]}, validate={"message": message, "deny": {}})
    assert messages(imported(cluster_policy(rule)), policyd.build_review(ROLE)) == ["in none"]


@pytest.mark.parametrize("sources", [*classic(), *cel(), *gatekeeper(), *alternatives()])
def test_no_condition_is_an_error(sources: list[JSONObject]) -> None:
    assert errors(sources) == []

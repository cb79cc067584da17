"""Advice: what is right in form and probably not meant."""

from datetime import date
from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_documents
from policyd.policy.lint.document_advice import advise
from policyd.policy.lint.run import LintRun
from tests.builders.policies import (
    MUTATION,
    VALIDATION,
    map_,
    map_binding,
    policy,
    policy_exception,
    rule,
    vap,
    vap_binding,
)
from tests.policy_sets import loaded

TODAY = date(2026, 11, 21)
NAMESPACE: JSONObject = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "a", "labels": {"team": "x"}},
}


def variables(*rows: tuple[str, str]) -> list[JSONObject]:
    return [{"name": name, "expression": text} for name, text in rows]


def in_namespaces(label: str) -> JSONObject:
    selector = {"matchLabels": {label: "x"}}
    return {"resourceRules": [rule()], "namespaceSelector": selector}


def exception(**fields: object) -> JSONObject:
    return policy(exceptions=[{"name": "e", **fields}])


OF_LEGACY: JSONObject = {"resources": [{"namespaces": ["legacy-*"]}]}
NAMED = policy("p", validations=[{**VALIDATION, "name": "limits"}])


ROWS: list[tuple[str, list[JSONObject], list[tuple[str, str]]]] = [
    ("bound", [vap(), vap_binding()], []),
    ("an exception of a policy", [NAMED, policy_exception("e", "p", **OF_LEGACY)], []),
    ("an exception of validations", [NAMED, policy_exception(
        "e", {"name": "?", "validations": [0, "limits"]}, **OF_LEGACY)], []),
    ("an exception of an unknown policy", [NAMED, policy_exception("e", "q", "p*", **OF_LEGACY)],
        [("dangling-exception", "spec.policies[0].name")]),
    ("an exception of unknown validations", [NAMED, policy_exception(
        "e", {"name": "p", "validations": [1, "0", "limits"]}, **OF_LEGACY)],
        [("dangling-exception", "spec.policies[0].validations[0]"),
         ("dangling-exception", "spec.policies[0].validations[1]")]),
    ("a MAP has no validations", [map_("m"), map_binding(), policy_exception(
        "e", {"name": "m", "validations": [0]}, **OF_LEGACY)],
        [("dangling-exception", "spec.policies[0].validations[0]")]),
    ("without policies nothing is known", [policy_exception("e", "q", **OF_LEGACY)], []),
    ("an exception of everything", [NAMED, policy_exception("e", "p")],
        [("broad-exception", "spec")]),
    ("also of everything", [NAMED, policy_exception(
        "e", "p", resources=[{"names": ["x"]}, {"kinds": ["*"], "operations": ["*"]}])],
        [("broad-exception", "spec")]),
    ("of a user", [NAMED, policy_exception(
        "e", "p", subjects=[{"kind": "User", "name": "a"}])], []),
    ("it has expired", [NAMED, policy_exception("e", "p", until="2026-11-20", **OF_LEGACY)],
        [("expired-exception", "spec.until")]),
    ("it expires soon", [NAMED, policy_exception("e", "p", until="2026-12-21", **OF_LEGACY)],
        [("expiring-exception", "spec.until")]),
    ("it expires later", [NAMED, policy_exception("e", "p", until="2026-12-22", **OF_LEGACY)], []),
    ("own kind needs no binding", [policy()], []),
    ("paramKind without paramRef", [
        vap(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}), vap_binding()],
        [("missing-param-ref", "spec")]),
    ("own kind without paramRef", [policy(paramKind={"apiVersion": "v1", "kind": "ConfigMap"})],
        [("missing-param-ref", "spec.paramKind")]),
    ("own kind with paramRef", [policy(
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        paramRef={"name": "limits", "parameterNotFoundAction": "Deny"})], []),
    ("unbound", [vap()], [("no-binding", "metadata.name")]),
    ("a binding of the other kind", [vap("m"), map_binding()], [
        ("no-binding", "metadata.name"), ("dangling-binding", "spec.policyName")]),
    ("unbound MAP", [map_()], [("no-binding", "metadata.name")]),
    ("used variable", [policy(
        variables=variables(("a", "1"), ("b", "variables.a")),
        validations=[{"expression": "variables . b == 1"}])], []),
    ("variable used in a message", [policy(
        variables=variables(("a", "'x'")),
        validations=[{**VALIDATION, "messageExpression": "variables.a"}])], []),
    ("variable used in an annotation", [policy(
        variables=variables(("a", "'x'")),
        auditAnnotations=[{"key": "k", "valueExpression": "variables.a"}])], []),
    ("variable used in a mutation", [policy(
        variables=variables(("a", "[]")),
        mutations=[{**MUTATION, "jsonPatch": {"expression": "variables.a"}}])], []),
    ("unused variable", [policy(variables=variables(("a", "1"), ("ab", "variables.a")))], [
        ("unused-variable", "spec.variables[1].name")]),
    ("variable of a longer name", [policy(
        variables=variables(("a", "1"), ("ab", "1")), validations=[{"expression": "variables.ab == 1"}])], [
        ("unused-variable", "spec.variables[0].name")]),
    ("two of one name", [vap(
        variables=variables(("a", "1"), ("a", "2")), validations=[{"expression": "variables.a == 1"}]), vap_binding()], [
        ("duplicate-variable", "spec.variables[1].name")]),
    ("hiding name", [vap(
        variables=variables(("object", "1")), validations=[{"expression": "variables.object == 1"}]), vap_binding()], [
        ("variable-name", "spec.variables[0].name")]),
    ("expired", [exception(names=["x"], until="2026-11-20")], [("expired-exception", "spec.exceptions[0].until")]),
    ("ends today", [exception(names=["x"], until="2026-11-21")], [("expiring-exception", "spec.exceptions[0].until")]),
    ("ends in 30 days", [exception(names=["x"], until="2026-12-21")], [
        ("expiring-exception", "spec.exceptions[0].until")]),
    ("ends in 31 days", [exception(names=["x"], until="2026-12-22")], []),
    ("for everything", [exception(reason="r")], [("broad-exception", "spec.exceptions[0]")]),
    ("unknown label", [policy(matchConstraints=in_namespaces("team"))], [
        ("unknown-namespace-labels", "spec.matchConstraints.namespaceSelector")]),
    ("known label", [policy(matchConstraints=in_namespaces("team")), NAMESPACE], []),
    ("the name of the namespace", [policy(matchConstraints=in_namespaces("kubernetes.io/metadata.name"))], []),
    ("a binding's selector", [vap(), vap_binding(matchResources=in_namespaces("team"))], [
        ("unknown-namespace-labels", "spec.matchResources.namespaceSelector")]),
    ("Kyverno", [{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "a"}}], [
        ("foreign-policy", "kind")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("documents", "expected"), [pytest.param(*row[1:], id=row[0]) for row in ROWS]
)
def test_advice(documents: list[JSONObject], expected: list[tuple[str, str]]) -> None:
    sources = loaded(*documents)
    assert sources.problems == ()
    found = list(in_documents(LintRun(sources, TODAY), advise))
    assert [(each.rule, each.path) for each in found] == expected
    assert all(each.severity == "advice" and each.line > 0 for each in found)


LIMITS = policy("memory-limits", validations=[{**VALIDATION, "name": "requests"}])
OTHERWISE = "correct the name, or check the policies together with their exceptions"
HINTS = [
    ("memory-limit", [], "did you mean memory-limits?"),
    ("memory-limt*", [], "did you mean memory-limits?"),
    ("q", [], OTHERWISE),
    ("memory-limits", ["request"], "did you mean requests?"),
    ("memory-limits", [7], "the only index is 0; named validations: requests"),
]


@pytest.mark.parametrize(("name", "validations", "hint"), HINTS)
def test_an_exception_of_a_similar_name(name: str, validations: list[Any], hint: str) -> None:
    entry = {"name": name, **({"validations": validations} if validations else {})}
    (found,) = in_documents(
        LintRun(loaded(LIMITS, policy_exception("e", entry, **OF_LEGACY)), TODAY), advise
    )
    assert (found.rule, found.hint) == ("dangling-exception", hint)


def test_a_binding_of_a_similar_name() -> None:
    found = in_documents(
        LintRun(loaded(vap("replicas"), vap_binding(policyName="replica")), TODAY), advise
    )
    assert [(each.rule, each.hint) for each in found if each.rule == "dangling-binding"] == [
        ("dangling-binding", "did you mean replicas?")
    ]

"""Advice on rollouts: over, contradictory, without an end, without an effect."""

from datetime import date
from typing import Any

import pytest

from policyd.json_types import JSON, JSONObject
from policyd.policy.lint.all import in_documents
from policyd.policy.lint.rollouts import advise_rollouts
from policyd.policy.lint.run import LintRun
from tests.builders.policies import (
    MUTATION,
    map_,
    map_binding,
    policy,
    rollout_document,
    rule,
    vap,
    vap_binding,
)
from tests.policy_sets import loaded

TODAY = date(2026, 11, 23)
CANARY = {"namespaceSelector": {"matchLabels": {"stage": "canary"}}}
MUTATING: dict[str, Any] = {"mutations": [MUTATION]}


def rolled(enforce: JSONObject, until: str = "2027-03-01T00:00:00Z", **spec: JSON) -> JSONObject:
    given: JSONObject = {"enforce": enforce, **({"until": until} if until else {})}
    return policy(rollout=given, **spec)


def of_rule(resource: str, group: str = "", *, enforce: JSONObject = CANARY) -> JSONObject:
    rules = {"resourceRules": [rule(resource, group=group)]}
    return rolled(enforce, matchConstraints=rules)


ENFORCE = "spec.rollout.enforce"
ROWS: list[tuple[str, list[JSONObject], list[tuple[str, str]]]] = [
    ("no rollout", [policy()], []),
    ("all fields", [rolled({**CANARY, "percent": 25, "newOnly": True})], []),
    ("shadow with an end", [rolled({})], []),
    ("shadow for ever", [rolled({}, until="")], [("open-ended-rollout", "spec.rollout")]),
    ("percent 0 for ever", [rolled({"percent": 0}, until="")], [
        ("open-ended-rollout", "spec.rollout")]),
    ("somewhere for ever", [rolled({"percent": 1}, until="")], []),
    ("over", [rolled({"percent": 25}, until="2026-11-22T12:00:00Z")], [
        ("expired-rollout", "spec.rollout.until")]),
    ("over since midnight", [rolled({}, until="2026-11-23T00:00:00Z")], [
        ("expired-rollout", "spec.rollout.until")]),
    ("over today", [rolled({}, until="2026-11-23T00:00:01Z")], []),
    ("0 beside", [rolled({**CANARY, "percent": 0})], [("contradictory-rollout", f"{ENFORCE}.percent")]),
    ("100 beside", [rolled({"newOnly": True, "percent": 100})], [
        ("contradictory-rollout", f"{ENFORCE}.percent")]),
    ("newOnly: false alone", [rolled({"newOnly": False}, until="2027-01-01T00:00:00Z")], [
        ("contradictory-rollout", f"{ENFORCE}.newOnly")]),
    ("newOnly: false beside", [rolled({"newOnly": False, "percent": 50})], []),
    ("100", [rolled({"percent": 100})], [("contradictory-rollout", f"{ENFORCE}.percent")]),
    ("all namespaces", [rolled({"namespaceSelector": {}})], [
        ("contradictory-rollout", f"{ENFORCE}.namespaceSelector")]),
    ("it only warns", [rolled({}, validationActions=["Warn"])], [("idle-rollout", "spec.rollout")]),
    ("it warns and mutates", [rolled({}, validationActions=["Warn"], **MUTATING)], []),
    ("newOnly of a mutation", [rolled({"newOnly": True}, **MUTATING)], [
        ("idle-rollout", f"{ENFORCE}.newOnly")]),
    ("newOnly without UPDATE", [rolled(
        {"newOnly": True}, matchConstraints={"resourceRules": [rule(operations=["CREATE"])]})], [
        ("idle-rollout", f"{ENFORCE}.newOnly")]),
    ("newOnly of all operations", [rolled(
        {"newOnly": True}, matchConstraints={"resourceRules": [rule(operations=["*"])]})], []),
    ("a selector for nodes", [of_rule("nodes/status")], [
        ("idle-rollout", f"{ENFORCE}.namespaceSelector")]),
    ("a selector for namespaces", [of_rule("namespaces")], []),
    ("a selector for anything", [of_rule("*")], []),
    ("a selector for unknown kinds", [of_rule("gadgets", "example.com")], []),
    ("percent for nodes", [of_rule("nodes", enforce={"percent": 5})], []),
    ("a VAP that denies", [vap(), vap_binding(), rollout_document(enforce=CANARY)], []),
    ("a VAP that only warns", [
        vap(), vap_binding(validationActions=["Warn"]), rollout_document(enforce=CANARY)], [
        ("idle-rollout", "spec")]),
    ("one of two bindings denies", [
        vap(), vap_binding("a", validationActions=["Warn"]), vap_binding("b"),
        rollout_document(enforce=CANARY)], []),
    ("a MAP", [map_(), map_binding(), rollout_document("m", enforce=CANARY)], []),
    ("a VAP and a MAP of one name", [
        vap("m"), vap_binding(policyName="m", validationActions=["Warn"]), map_(), map_binding(),
        rollout_document("m", enforce=CANARY)], []),
    ("a document for ever", [vap(), vap_binding(), rollout_document()], [
        ("open-ended-rollout", "spec")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("documents", "expected"), [pytest.param(*row[1:], id=row[0]) for row in ROWS]
)
def test_advice_on_rollouts(documents: list[JSONObject], expected: list[tuple[str, str]]) -> None:
    sources = loaded(*documents)
    assert sources.problems == ()
    found = list(in_documents(LintRun(sources, TODAY), advise_rollouts))
    assert [(each.rule, each.path) for each in found] == expected
    assert all(each.severity == "advice" and each.line > 0 for each in found)

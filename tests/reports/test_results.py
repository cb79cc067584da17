"""Which result a finding is in a report, and what reports say of policies: annotations, stages of
rollouts.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.admission.decision import Finding
from policyd.policy.compile.exemptions import Exemption
from policyd.reports.results import (
    MAX_CHARS,
    PolicyFacts,
    facts_of,
    lifted,
    of_finding,
    stage_words,
    worst,
)
from policyd.reports.summary import RESULTS
from tests.builders.policies import policy, rollout_document
from tests.policy_sets import compiled, loaded

FACTS = PolicyFacts(("team", "Policy"), "Ownership", "high", ("labelled", ""))
SET = compiled(policy("team"))
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
LABELS = {"matchLabels": {"stage": "canary"}}

STAGES: list[tuple[dict[str, Any] | None, str]] = [
    (None, ""),
    ({}, "shadow"),
    ({"enforce": {}}, "shadow"),
    ({"enforce": {"newOnly": False}}, "shadow"),
    ({"enforce": {"percent": 0}}, "0 percent"),
    ({"enforce": {"percent": 25}, "until": "2027-03-01T00:00:00Z"}, "25 percent"),
    ({"enforce": {"percent": 25}, "until": "2026-11-23T12:00:00Z"}, "enforced everywhere"),
    ({"enforce": {"newOnly": True, "namespaceSelector": LABELS, "percent": 5}},
     "5 percent, selected namespaces, new violations"),
]  # fmt: skip


def finding(message: str = "no team", **fields: Any) -> Finding:
    return Finding(SET.policies[0], fields.pop("binding", None), message, **fields)


# (actions, error, counts, rollout): the result.
MAPPING: list[tuple[tuple[str, ...], bool, bool, str, str]] = [
    (("Deny",), False, True, "", "fail"),
    (("Audit",), False, True, "", "fail"),
    (("Warn", "Audit"), False, True, "", "fail"),
    (("Deny", "Audit"), False, True, "", "fail"),
    (("Warn",), False, True, "", "warn"),
    (("Warn",), False, True, "enforce is empty", "fail"),
    (("Audit",), False, True, "enforce is empty", "fail"),
    (("Deny",), True, True, "", "error"),
    (("Warn",), True, True, "", "error"),
    (("Audit",), True, True, "enforce is empty", "error"),
    (("Deny",), True, False, "", "error"),
]


@pytest.mark.parametrize(("actions", "error", "counts", "rollout", "result"), MAPPING)
def test_the_result_of_a_finding(
    actions: tuple[str, ...], error: bool, counts: bool, rollout: str, result: str
) -> None:
    found = finding(actions=actions, error=error, rollout=rollout)
    made = of_finding(FACTS, found, counts=counts)
    assert made.result == result
    assert made.property_of("rollout") == rollout
    assert made.property_of("failurePolicy") == ("" if counts else "Ignore")
    assert made.property_of("validationActions") == (",".join(actions) if counts else "")


@pytest.mark.parametrize(
    ("index", "error", "rule"),
    [
        (0, False, "labelled"),
        (1, False, "validations[1]"),
        (2, False, "validations[2]"),
        (0, True, ""),
    ],
)
def test_the_rule_is_the_validation(index: int, error: bool, rule: str) -> None:
    assert of_finding(FACTS, finding(index=index, error=error), counts=True).rule == rule


def test_what_a_finding_says_besides() -> None:
    made = of_finding(FACTS, finding(binding="all", field="spec.x"), counts=True)
    assert (made.policy, made.category, made.severity) == (FACTS.key, "Ownership", "high")
    assert made.properties == (
        ("binding", "all"), ("field", "spec.x"), ("validationActions", "Deny"),
    )  # fmt: skip


def test_long_and_broken_strings_are_cut_and_repaired() -> None:
    made = of_finding(FACTS, finding("\ud800" + "x" * 9000, binding="b" * 9000), counts=True)
    assert made.message.startswith("\ufffdxxx")
    assert max(len(made.message), len(made.property_of("binding"))) < MAX_CHARS + 40


def test_what_an_exception_lifts_is_skipped_with_its_reason() -> None:
    violation = of_finding(FACTS, finding(field="spec.x"), counts=True)
    made = lifted(violation, Exemption("legacy", "ticket 4711"))
    assert (made.result, made.rule, made.message) == ("skip", "labelled", "no team")
    assert made.properties == (
        ("exception", "legacy"), ("field", "spec.x"), ("reason", "ticket 4711"),
        ("validationActions", "Deny"),
    )  # fmt: skip


def test_strings_of_an_exception_are_cut_and_repaired() -> None:
    made = lifted(of_finding(FACTS, finding(), counts=True), Exemption("legacy", "\ud800" * 9000))
    assert "\ud800" not in made.property_of("reason")
    assert len(made.property_of("reason")) < MAX_CHARS + 40


@given(st.sets(st.sampled_from(RESULTS)))
def test_the_worst_result_counts(results: set[Any]) -> None:
    found = worst(results)
    assert found == "pass" if not results else found in results
    for each in results:
        assert RESULTS.index(found) <= RESULTS.index(each)


@pytest.mark.parametrize(("rollout", "words"), STAGES)
def test_the_stage_of_a_rollout(rollout: dict[str, Any] | None, words: str) -> None:
    assert stage_words(rollout, NOON) == words


def annotated(**annotations: str) -> PolicyFacts:
    made = policy("p")
    made["metadata"]["annotations"] = annotations
    return facts_of(loaded(made), compiled(made).policies)["p", "Policy"]


@pytest.mark.parametrize("prefix", ["policyd.dev", "policies.kyverno.io"])
@pytest.mark.parametrize("severity", ["critical", "High", "medium", "low", " INFO"])
def test_a_severity_that_reports_know(severity: str, prefix: str) -> None:
    found = annotated(**{f"{prefix}/severity": severity, f"{prefix}/category": "Labels"})
    assert (found.severity, found.category) == (severity.strip().lower(), "Labels")


@pytest.mark.parametrize("severity", ["", "severe"])
def test_another_severity_is_left_out(severity: str) -> None:
    assert annotated(**{"policyd.dev/severity": severity}).severity == ""


def test_own_annotations_come_first() -> None:
    found = annotated(
        **{
            "policies.kyverno.io/severity": "low",
            "policyd.dev/severity": "high",
            "policies.kyverno.io/category": "Theirs",
        }
    )
    assert (found.severity, found.category) == ("high", "Theirs")


def test_a_document_of_its_own_may_be_the_rollout() -> None:
    made = policy("p")
    rollout = rollout_document("careful", policyName="p", enforce={"percent": 25})
    found = facts_of(loaded(made, rollout), compiled(made).policies)
    assert found["p", "Policy"].rollout == "25 percent"

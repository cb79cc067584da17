"""What reports say of policies: annotations, names of validations, stages of rollouts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from policyd.reports.results import PolicyFacts, facts_of, stage_words
from tests.builders.policies import demand, policy, rule, vap
from tests.policy_sets import compiled, loaded

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


def test_validations_have_names_or_places() -> None:
    made = [
        policy("p", validations=[{**demand("true", "no"), "name": "first"}]),
        vap("q", rule("pods"), validations=[demand("true", "no")]),
    ]
    found = facts_of(loaded(*made), compiled(*made).policies)
    assert found["p", "Policy"].rule(0) == "first"
    assert found["q", "ValidatingAdmissionPolicy"].rule(0) == "validations[0]"


def test_a_document_of_its_own_may_be_the_rollout() -> None:
    made = policy("p")
    rollout = {
        "apiVersion": "policyd.dev/v1",
        "kind": "Rollout",
        "metadata": {"name": "careful"},
        "spec": {"policyName": "p", "enforce": {"percent": 25}},
    }
    found = facts_of(loaded(made, rollout), compiled(made).policies)
    assert found["p", "Policy"].rollout == "25 percent"

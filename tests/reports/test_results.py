"""Which result a finding is in a report."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.admission.decision import Finding
from policyd.policy.compile.exemptions import Exemption
from policyd.reports.results import MAX_CHARS, RESULTS, PolicyFacts, lifted, of_finding, worst
from tests.builders.policies import policy
from tests.policy_sets import compiled

FACTS = PolicyFacts(("team", "Policy"), "Ownership", "high", ("labelled", ""))
SET = compiled(policy("team"))


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


def test_messages_about_confidential_objects_are_withheld() -> None:
    made = of_finding(FACTS, finding("the password is hunter2"), counts=True, confidential=True)
    assert "hunter2" not in str(made)
    assert "withheld" in made.message


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

"""The result of an object for a policy, as reports word it. Evaluates nothing."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from policyd.admission.confidential import WITHHELD
from policyd.admission.decision import Finding
from policyd.bounded_text import bounded, encodable
from policyd.policy.compile.exemptions import Exemption
from policyd.policy.kinds.match_targets import PolicyKey
from policyd.reports.policy_facts import PolicyFacts

ResultWord = Literal["fail", "error", "warn", "skip", "pass"]
# The worst comes first.
RESULTS: tuple[ResultWord, ...] = ("fail", "error", "warn", "skip", "pass")
# Characters of a message or a property in a report.
MAX_CHARS = 1024


@dataclass(frozen=True, slots=True)
class ReportResult:
    """One finding of a policy for an object, or one exception that lifts it.

    ``rule`` is the validation, "" if it is about the whole policy. ``properties`` are sorted.
    """

    policy: PolicyKey
    rule: str
    result: ResultWord
    message: str
    category: str
    severity: str
    properties: tuple[tuple[str, str], ...] = ()

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Return the key of the order in a report."""
        where = RESULTS.index(self.result)
        return (self.policy, where, self.rule, self.message, self.properties)

    def property_of(self, name: str) -> str:
        """Return the value of a property, "" without it."""
        return dict(self.properties).get(name, "")


def worst(results: Iterable[ResultWord]) -> ResultWord:
    """Return the worst of some results; pass if there are none."""
    return min(results, key=RESULTS.index, default="pass")


def of_finding(
    facts: PolicyFacts, finding: Finding, *, counts: bool, confidential: bool = False
) -> ReportResult:
    """Return a violation or an error; ``counts`` is False if failurePolicy Ignore drops it.
    ``confidential``: the message may quote a value that reports must not have.

    What the rollout of the policy does not enforce is reported as what it would be.
    """
    result: ResultWord = "warn"
    if finding.error or not counts:
        result = "error"
    elif finding.rollout or "Deny" in finding.actions or "Audit" in finding.actions:
        result = "fail"
    properties = {
        "binding": finding.binding or "",
        "field": finding.field,
        "validationActions": ",".join(finding.actions) if counts else "",
        "failurePolicy": "" if counts else "Ignore",
        "rollout": finding.rollout,
    }
    rule = "" if finding.error else facts.rule(finding.index)
    message = WITHHELD if confidential else finding.message
    return _result(facts, rule, result, message, properties)


def lifted(result: ReportResult, exemption: Exemption) -> ReportResult:
    """Return a result that an exception lifts."""
    properties = {"exception": _text(exemption.name), "reason": _text(exemption.reason)}
    given = {**dict(result.properties), **{key: each for key, each in properties.items() if each}}
    return replace(result, result="skip", properties=tuple(sorted(given.items())))


def _result(
    facts: PolicyFacts, rule: str, result: ResultWord, message: str, properties: dict[str, str]
) -> ReportResult:
    given = {key: _text(value) for key, value in sorted(properties.items()) if value}
    return ReportResult(
        facts.key,
        _text(rule),
        result,
        _text(message),
        facts.category,
        facts.severity,
        tuple(given.items()),
    )


def _text(string: str) -> str:
    return encodable(bounded(string, MAX_CHARS))

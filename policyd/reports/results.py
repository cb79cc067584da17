"""The results of objects for policies in the words of reports, and facts about policies. Evaluates
nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from policyd.admission.confidential import WITHHELD
from policyd.admission.decision import Finding
from policyd.bounded_text import bounded, encodable
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.exemptions import Exemption
from policyd.policy.kinds.match_targets import PolicyKey
from policyd.policy.source.classification import classification_of
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.reports.summary import RESULTS, ResultWord

_ROLLOUT = "Rollout"
# Characters of a message or a property in a report.
MAX_CHARS = 1024


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """A policy: its name and kind, its annotations, and the names of its validations.

    ``severity`` is "" if reports do not know the annotation's value. ``rollout`` is the stage of
    its rollout, "" without one.
    """

    key: PolicyKey
    category: str = ""
    severity: str = ""
    validations: tuple[str, ...] = ()
    rollout: str = ""

    def rule(self, index: int) -> str:
        """Return the name of a validation, or its index if it has none."""
        named = self.validations[index] if index < len(self.validations) else ""
        return named or f"validations[{index}]"


def facts_of(
    sources: Sources, policies: Iterable[CompiledPolicy]
) -> Mapping[PolicyKey, PolicyFacts]:
    """Return the facts of these policies, by their keys."""
    wanted = {each.sort_key for each in policies}
    found = {(each.name, each.kind): each for each in sources.documents if each.is_policy}
    rollouts = {
        str(each.raw["spec"].get("policyName")): each.raw["spec"]
        for each in sources.documents
        if each.kind == _ROLLOUT and each.group == "policyd.dev"
    }
    return {key: _facts(key, found[key], rollouts.get(key[0])) for key in sorted(wanted)}


def stage_words(rollout: Mapping[str, Any] | None, now: datetime) -> str:
    """Return the stage of a rollout in words: where the policy is enforced."""
    if rollout is None:
        return ""
    until = rollout.get("until")
    if until and datetime.fromisoformat(str(until)) <= now:
        return "enforced everywhere"
    enforce = rollout.get("enforce") or {}
    percent = enforce.get("percent")
    words = [] if percent is None else [f"{percent} percent"]
    words += ["selected namespaces"] if enforce.get("namespaceSelector") is not None else []
    words += ["new violations"] if enforce.get("newOnly") else []
    return ", ".join(words) or "shadow"


def _facts(key: PolicyKey, document: Document, rollout: Mapping[str, Any] | None) -> PolicyFacts:
    spec = document.raw["spec"]
    return PolicyFacts(
        key,
        *classification_of(document),
        tuple(str(each.get("name") or "") for each in spec.get("validations") or ()),
        stage_words(spec.get("rollout") or rollout, datetime.now(UTC)),
    )


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
        """Return the key for sorting in a report."""
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
    ``confidential``: the message may quote a value that reports must not show.

    Results that the policy's rollout does not enforce are reported as if it did.
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

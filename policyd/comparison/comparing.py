"""Compares the answers of another product with the decisions of policyd's policies, rule by rule.
Sends nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, get_args

from policyd._core.json.equality import equal
from policyd._core.patch.diff import diff
from policyd.comparison.asking import OtherAnswer, dry
from policyd.comparison.audited import AuditReports
from policyd.comparison.findings import LEVELS, Level, RuleFinding, RuleName
from policyd.defaulting.defaults import Defaults
from policyd.importers.provenance import provenance_of
from policyd.json_types import JSON, JSONObject, object_in
from policyd.offline.admitting import Admission, Admitter, Effect, Violation
from policyd.offline.replaying import Recorded
from policyd.policy.source.json_text.encoding import json_bytes
from policyd.policy.source.loaded_documents import Document

RuleOutcome = Literal[
    "equal", "stricter", "looser", "other message", "other patch", "unknown", "no answer",
]  # fmt: skip
OUTCOMES: tuple[RuleOutcome, ...] = get_args(RuleOutcome)
DIFFERENT: frozenset[RuleOutcome] = frozenset((
    "stricter", "looser", "other message", "other patch", "no answer",
))  # fmt: skip
_LEVELS: Mapping[Effect, Level] = {
    "deny": "denies", "warn": "warns", "would_deny": "audits", "audit": "audits",
}  # fmt: skip
_MOST_FIELDS = 3  # of a patch that differs


@dataclass(frozen=True, slots=True)
class ComparedRule:
    """One rule for one request: the outcome, and both answers. ``stricter``: policyd is."""

    name: RuleName
    outcome: RuleOutcome
    policyd: str
    other: str


@dataclass(frozen=True, slots=True)
class _Stance:
    """The verdict of one side on a rule."""

    level: Level = "admits"
    messages: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.level, "; ".join(self.messages))))

    @property
    def rank(self) -> int:
        """Return a number that is greater for stricter levels."""
        return LEVELS.index(self.level)


_ADMITS = _Stance()


class Comparer:
    """The policies of policyd, by the rules that they were imported from. ``documents`` are the
    documents of the policies; ``reports`` show what the other product only audits.
    """

    def __init__(
        self,
        admitter: Admitter,
        defaults: Defaults,
        documents: Iterable[Document],
        reports: AuditReports | None = None,
    ):
        self._admitter = admitter
        self._reports = reports
        self._defaults = defaults
        self._documents = {each.name: each for each in documents}
        self._names = {name: _name_of(each) for name, each in self._documents.items()}

    def compared(
        self, recorded: Recorded, answers: Sequence[OtherAnswer]
    ) -> Iterator[ComparedRule]:
        """Yield the outcome of every rule that one side applied to a request, mutations first."""
        request = dry(recorded.request)
        for answer in answers:
            if answer.unknown or answer.failure:
                outcome: RuleOutcome = "unknown" if answer.unknown else "no answer"
                yield ComparedRule(RuleName(), outcome, "", answer.unknown or answer.failure)
                return
            admission = self._admitter.admit(
                {**recorded.review, "request": request}, (answer.webhook,)
            )
            yield from self._rules(request, admission, answer)
            if not admission.allowed:
                return
            request = {**request, "object": self._defaults.applied(admission.after)}

    def _rules(
        self, request: JSONObject, admission: Admission, answer: OtherAnswer
    ) -> Iterator[ComparedRule]:
        ours, theirs = self._stances(admission), _by_rule(answer.findings)
        if RuleName() in theirs:  # a denial that names no policy rejects the request as a whole
            own, other = (
                max(each.values(), key=attrgetter("rank"), default=_ADMITS)
                for each in (ours, theirs)
            )
            yield _compared(RuleName(), own, other, answer)
            return
        matched = {self._names.get(each, RuleName(each)) for each in admission.matched}
        if admission.allowed and answer.allowed and answer.webhook == "mutate":
            after = [self._defaults.applied(each) for each in (admission.after, answer.after)]
            if not equal(*after):
                # Several mutations cannot be distinguished in the resulting object.
                name = next(iter(matched)) if len(matched) == 1 else RuleName()
                yield ComparedRule(name, "other patch", *_fields(*after))
                matched.clear()
        audited = {name for name in ours.keys() - theirs if ours[name].level == "audits"}
        reported: dict[RuleName, _Stance] = {}
        if audited and self._reports is not None:
            reported = _by_rule(self._reports.findings(request, admission.after, audited))
        theirs |= reported
        for name in sorted({*ours, *theirs, *matched}):
            own, other = ours.get(name, _ADMITS), theirs.get(name, _ADMITS)
            yield _compared(name, own, other, answer, reported=name in reported)

    def _stances(self, admission: Admission) -> dict[RuleName, _Stance]:
        return _by_rule(
            RuleFinding(
                self._names.get(each.policy, RuleName(each.policy)),
                _LEVELS[each.outcome],
                self._message(each),
            )
            for each in admission.violations
        )

    def _message(self, violation: Violation) -> str:
        """Return the message in the policy, without the fields that a pattern adds."""
        spec = object_in(self._documents[violation.policy].raw, "spec")
        validations = spec.get("validations") or ()
        validation = validations[violation.index] if validations else {}
        written = str(validation.get("message") or "").strip()
        if written and violation.message.startswith(written):
            return written
        if {"pattern", "anyPattern"} & validation.keys():
            return violation.message.partition(" (")[0]
        return violation.message


def _name_of(policy: Document) -> RuleName:
    """Return the rule that a policy was imported from; the policy itself if it was not."""
    source, rule = provenance_of(policy)
    return RuleName(source.source.rpartition("/")[2] or policy.name, rule)


def _by_rule(findings: Iterable[RuleFinding]) -> dict[RuleName, _Stance]:
    """Return the strictest level of each rule, with its messages."""
    found: dict[RuleName, _Stance] = {}
    for name, level, message in findings:
        new, known = _Stance(level, (message,)), found.get(name, _ADMITS)
        if new.rank > known.rank:
            found[name] = new
        elif new.rank == known.rank and message not in known.messages:
            found[name] = _Stance(level, (*known.messages, message))
    return found


def _compared(
    name: RuleName,
    ours: _Stance,
    theirs: _Stance,
    answer: OtherAnswer,
    *,
    reported: bool = False,
) -> ComparedRule:
    if ours.level == theirs.level:
        outcome: RuleOutcome = "equal" if _agree(ours, theirs) else "other message"
    elif ours.rank < theirs.rank:
        outcome = "looser"
    elif not reported and (
        ours.level == "audits" or (ours.level == "warns" and not answer.allowed)
    ):
        # Answers do not include audited rules, and a denial by Kyverno has no warnings.
        outcome = "unknown"
    else:
        outcome = "stricter"
    return ComparedRule(name, outcome, str(ours), str(theirs))


def _agree(ours: _Stance, theirs: _Stance) -> bool:
    """Whether the other side reports a message of ours; it may add words, and omit others."""
    one, other = ([" ".join(each.split()) for each in side.messages] for side in (ours, theirs))
    return ours.level == "admits" or any(each in text for each in one for text in other)


def _fields(ours: JSON, theirs: JSON) -> tuple[str, str]:
    """Return the fields that differ, with the values of both sides."""
    sides = []
    for before, after in ((theirs, ours), (ours, theirs)):
        operations = diff(before, after)
        shown = [_field(each) for each in operations[:_MOST_FIELDS]]
        more = len(operations) - len(shown)
        sides.append(", ".join([*shown, *([f"and {more} more"] if more > 0 else [])]))
    return sides[0], sides[1]


def _field(operation: JSONObject) -> str:
    if operation["op"] == "remove":
        return f"{operation['path']} absent"
    return f"{operation['path']}: {json_bytes(operation.get('value')).decode()}"

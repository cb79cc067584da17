"""The steps of one request's decision, as data. ``observing.py`` records and the command line
prints them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from policyd.admission.decision import Finding
from policyd.admission.lookups.recorded_reads import SeenRead
from policyd.admission.staging import Stage
from policyd.cel.trace.reads import ObjectFields
from policyd.cel.trace.steps import Steps
from policyd.json_types import JSON, JSONObject
from policyd.offline.matching import MatchReason
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loaded_documents import Document

PolicyOutcome = Literal[
    "denies", "would deny", "warns", "audits", "ignores an error", "changes it", "would change it",
    "changes nothing", "admits", "exempt", "condition not met", "not bound", "no params",
    "left alone", "not matched",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Applied:
    """The effect of one mutation: the operations that change the object, or its error."""

    index: int
    kind: str
    operations: tuple[JSONObject, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Visit:
    """A policy evaluated under one binding and param: every expression that ran, in order.

    ``validates``: by the validating webhook, the only one that checks patterns. ``again``:
    reinvoked because a later policy changed the object. ``lifted`` has the validations that
    exceptions lift, ``ignored`` the errors that failurePolicy Ignore lets pass. ``fields`` belong
    to the object that the policy sees, which is at ``within`` in the request's object.
    """

    binding: str
    actions: tuple[str, ...]
    param: JSON
    as_pod: bool
    lifted: frozenset[int]
    validates: bool = False
    again: bool = False
    expressions: tuple[Steps, ...] = ()
    mutations: tuple[Applied, ...] = ()
    findings: tuple[Finding, ...] = ()
    ignored: tuple[Finding, ...] = ()
    fields: ObjectFields = field(default_factory=ObjectFields)
    within: str = ""

    @property
    def stopped(self) -> bool:
        """Whether a matchCondition was false."""
        return any(
            each.label.startswith("spec.matchConditions") and each.root.value is False
            for each in self.expressions
        )


def is_about(finding: Finding, each: Steps) -> bool:
    """Whether a finding is the result of an expression of a validation."""
    return each.label == f"spec.validations[{finding.index}].expression" and not (
        finding.error and not each.root.failed
    )


@dataclass(frozen=True, slots=True)
class PolicyStory:
    """One policy and one webhook: why it matched or not, and its findings.

    ``bindings`` has the tried bindings with the reasons, ``findings`` those outside of visits:
    errors of the configuration. ``exceptions`` has the names of the exceptions that applied.
    ``stage``: whether its rollout enforces it for the request; None without a rollout. ``reads``
    has the other objects that it saw.
    """

    policy: CompiledPolicy
    document: Document
    matched: bool
    reason: MatchReason
    controllers: MatchReason | None = None
    exceptions: tuple[str, ...] = ()
    stage: Stage | None = None
    bindings: tuple[tuple[str, MatchReason], ...] = ()
    params: tuple[tuple[str, int], ...] = ()
    visits: tuple[Visit, ...] = ()
    findings: tuple[Finding, ...] = ()
    ignored: tuple[Finding, ...] = ()
    reads: Mapping[CompiledRead, SeenRead] = field(default_factory=dict)

    @property
    def outcome(self) -> PolicyOutcome:
        """Return the policy's effect on the request, in one word."""
        findings = [*self.findings, *(each for visit in self.visits for each in visit.findings)]
        if any("Deny" in each.actions for each in findings):
            return "denies"
        if any(each.rollout for each in findings):
            return "would deny"
        for action, outcome in _BY_ACTION:
            if any(action in each.actions for each in findings):
                return outcome
        if not self.matched:
            return "not matched"
        if self.ignored or any(visit.ignored for visit in self.visits):
            return "ignores an error"
        if not self.visits:
            return self._unvisited
        if all(visit.stopped for visit in self.visits):
            return "condition not met"
        applied = [each for visit in self.visits for each in visit.mutations]
        if any(each.operations for each in applied):
            return "would change it" if self.held else "changes it"
        return "changes nothing" if applied else "admits"

    @property
    def held(self) -> bool:
        """Whether its rollout does not enforce it for the request."""
        return self.stage is not None and not (self.stage.enforced or self.stage.problem)

    @property
    def _unvisited(self) -> PolicyOutcome:
        if self.exceptions:
            return "exempt"
        if self.policy.bindings and not self.bindings:
            return "left alone"
        return "no params" if any(reason.applies for _, reason in self.bindings) else "not bound"


_BY_ACTION: tuple[tuple[str, PolicyOutcome], ...] = (
    ("Warn", "warns"),
    ("Audit", "audits"),
)


@dataclass(frozen=True, slots=True)
class WebhookStory:
    """One webhook: the response that the API server gets, and the story of each policy."""

    webhook: Webhook
    response: JSONObject
    policies: tuple[PolicyStory, ...]
    before: JSON = None
    after: JSON = None

    def only(self, name: str) -> "WebhookStory":
        """Return the story of one policy only."""
        return replace(self, policies=tuple(p for p in self.policies if p.policy.name == name))

"""Evaluate the policies that match an object, and collect what reports say. Reads no cluster.

Objects are evaluated as by the validating webhook, with the same functions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from policyd.admission.applicable import Applicable
from policyd.admission.confidential import is_confidential
from policyd.admission.decision import Finding
from policyd.admission.engine import evaluate
from policyd.admission.findings import Findings
from policyd.admission.invocation import Invocation
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.lookups.sources import NamespaceSource, ParamSource
from policyd.admission.observer import QuietObserver
from policyd.admission.recorder import NullRecorder, PolicyEvent
from policyd.admission.review import AdmissionRequest, decode
from policyd.admission.subject import Subjects
from policyd.json_types import JSONObject
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.exemptions import Exemption
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.live.reach import PolicyKey
from policyd.reports.policies import PolicyFacts
from policyd.reports.results import ReportResult, of_exemption, of_finding


class ObjectResults(NamedTuple):
    """The results of an object: those with something to report, sorted, and the policies that were
    evaluated.
    """

    results: tuple[ReportResult, ...]
    evaluated: frozenset[PolicyKey]


class ObjectEvaluator:
    """Evaluates objects with a set of policies, of which ``facts`` are known."""

    def __init__(
        self,
        policies: CompiledPolicySet,
        facts: Mapping[PolicyKey, PolicyFacts],
        *,
        authorizer: Authorizer | None,
        namespaces: NamespaceSource,
        params: ParamSource,
    ) -> None:
        self._policies = policies
        self._facts = facts
        self._authorizer = authorizer
        self._namespaces = namespaces
        self._params = params

    def evaluate(self, review: JSONObject, only: frozenset[PolicyKey]) -> ObjectResults:
        """Evaluate these policies for the request of a review."""
        request = decode(review)
        subjects = Subjects(request, self._namespaces, self._authorizer)
        applicable = Applicable(self._policies, subjects, self._params, "validate")
        matches = applicable.match(lambda policy: policy.sort_key in only)
        noted = _Noted()
        findings = Findings(request, "validate", self._policies.generation, noted, noted)
        evaluate(applicable, findings, matches, 0)
        results = set(self._results(noted, is_confidential(request)))
        evaluated = noted.evaluated | {each.policy for each in results}
        return ObjectResults(
            tuple(sorted(results, key=lambda each: each.sort_key)), frozenset(evaluated)
        )

    def _results(self, noted: "_Noted", confidential: bool) -> Iterable[ReportResult]:
        for finding, counts in noted.findings:
            facts = self._facts[finding.policy.sort_key]
            yield of_finding(facts, finding, counts=counts, confidential=confidential)
        for policy, exemption in noted.exemptions:
            if (policy.name, exemption.name) in noted.lifting:
                yield of_exemption(self._facts[policy.sort_key], exemption)


class _Noted(QuietObserver, NullRecorder):
    """An Observer and a Recorder of one request: findings, and the exceptions that lift some."""

    def __init__(self) -> None:
        self.evaluated: set[PolicyKey] = set()
        self.findings: list[tuple[Finding, bool]] = []
        self.exemptions: list[tuple[CompiledPolicy, Exemption]] = []
        self.lifting: set[tuple[str, str]] = set()

    def happened(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        if event.what == "exemption":
            self.lifting.add((event.policy, event.exception))

    def found(self, finding: Finding, counts: bool) -> None:
        self.findings.append((finding, counts))

    def validated(self, invocation: Invocation) -> None:
        self.evaluated.add(invocation.policy.sort_key)

    def exempted(self, policy: CompiledPolicy, exemptions: Sequence[Exemption]) -> None:
        self.exemptions += [(policy, each) for each in exemptions]

"""Evaluates the policies that match an object, and collects results for reports. Reads no cluster.

Uses the same functions as the validating webhook.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from policyd.admission.applicable import Applicable, LookupSources
from policyd.admission.confidential import is_confidential
from policyd.admission.decision import Finding
from policyd.admission.engine import evaluate
from policyd.admission.findings import Findings
from policyd.admission.invocation import Invocation, Matched
from policyd.admission.observer import Observer
from policyd.admission.recorder import Recorder
from policyd.admission.review import decode
from policyd.json_types import JSONObject
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.exemptions import Exemption
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.kinds.match_targets import PolicyKey
from policyd.reports.results import PolicyFacts, ReportResult, lifted, of_finding


class ObjectResults(NamedTuple):
    """The results of an object: the sorted findings, and the evaluated policies."""

    results: tuple[ReportResult, ...]
    evaluated: frozenset[PolicyKey]


@dataclass(frozen=True, slots=True)
class ObjectEvaluator:
    """Evaluates objects with a set of policies; ``facts`` describe the policies."""

    policies: CompiledPolicySet
    facts: Mapping[PolicyKey, PolicyFacts]
    lookups: LookupSources

    def evaluate(self, review: JSONObject, only: frozenset[PolicyKey]) -> ObjectResults:
        """Evaluate these policies for the request of a review."""
        request = decode(review)
        applicable = self.lookups.applicable(self.policies, request, "validate")
        matches = applicable.match(lambda policy: policy.sort_key in only)
        noted = self._noted(applicable, matches)
        # Only a second evaluation shows the findings without the exceptions: a policy that an
        # exception lifts as a whole has not been evaluated.
        exempted = noted.exemptions
        bare = [
            (replace(policy, exemptions=()), hit)
            for policy, hit in matches
            if policy.sort_key in exempted
        ]
        without = self._noted(applicable, bare) if bare else _Noted()
        confidential = is_confidential(request)
        found = dict(self._results(noted, confidential))
        results = {
            *found,
            *(
                lifted(result, exemption)
                for result, index in self._results(without, confidential)
                if result not in found
                for exemption in _lifting(exempted[result.policy], index)
            ),
        }
        return ObjectResults(
            tuple(sorted(results, key=lambda each: each.sort_key)),
            noted.evaluated | without.evaluated | {each.policy for each in results},
        )

    def _noted(self, applicable: Applicable, matches: list[Matched]) -> "_Noted":
        """Evaluate these policies."""
        noted, generation = _Noted(), self.policies.generation
        findings = Findings(applicable.request, "validate", generation, Recorder(), noted)
        evaluate(applicable, findings, matches, 0)
        return noted

    def _results(self, noted: "_Noted", confidential: bool) -> Iterator[tuple[ReportResult, int]]:
        """Yield each finding, and the index of its validation."""
        for finding, counts in noted.findings:
            facts = self.facts[finding.policy.sort_key]
            result = of_finding(facts, finding, counts=counts, confidential=confidential)
            yield result, finding.index


def _lifting(applying: Sequence[Exemption], index: int) -> Sequence[Exemption]:
    """Return the exception that lifts a validation, if there is one: the first one that applies."""
    found = [each for each in applying if not each.validations or index in each.validations]
    return found[:1]


class _Noted(Observer):
    """The findings for an object, and the exceptions that apply to it."""

    def __init__(self) -> None:
        self.evaluated: frozenset[PolicyKey] = frozenset()
        self.findings: list[tuple[Finding, bool]] = []
        self.exemptions: dict[PolicyKey, Sequence[Exemption]] = {}

    def found(self, finding: Finding, counts: bool) -> None:
        self.findings.append((finding, counts))

    def validated(self, invocation: Invocation) -> None:
        self.evaluated |= {invocation.policy.sort_key}

    def exempted(self, policy: CompiledPolicy, exemptions: Sequence[Exemption]) -> None:
        if exemptions:
            self.exemptions[policy.sort_key] = exemptions

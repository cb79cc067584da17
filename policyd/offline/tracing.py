"""Evaluate a request with policies whose programs record their reads. Reports nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from policyd._core.eval.tracing import Tracer
from policyd.admission.applicable import Applicable, LookupSources
from policyd.admission.engine import evaluate
from policyd.admission.findings import Findings
from policyd.admission.invocation import Matched
from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.offline.observing import Notes, StoryObserver
from policyd.policy.compile import compiler
from policyd.policy.compile.compiled import PolicyFilter
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loaded_documents import Sources


@dataclass(frozen=True, slots=True)
class TracedPolicies:
    """Policies whose evaluations ``tracer`` records."""

    policies: CompiledPolicySet
    tracer: Tracer

    @classmethod
    def of_sources(cls, sources: Sources) -> "TracedPolicies":
        """Return the policies of these sources, including those with problems."""
        tracer = Tracer()
        return cls(compiler.compile_sources(sources, tracer=tracer), tracer)

    def changed(self, change: Callable[[CompiledPolicySet], CompiledPolicySet]) -> "TracedPolicies":
        """Return the same policies with other namespaces, params or definitions."""
        return TracedPolicies(change(self.policies), self.tracer)

    def of(
        self,
        request: AdmissionRequest,
        webhook: Webhook,
        lookups: LookupSources,
        only: PolicyFilter | None = None,
    ) -> "TracedEvaluation":
        """Match the policies of one webhook; ``only`` selects them."""
        applicable = lookups.applicable(self.policies, request, webhook)
        return TracedEvaluation(self, webhook, applicable, applicable.match(only))


@dataclass(frozen=True, slots=True)
class TracedEvaluation:
    """One webhook's policies that match a request, before they are evaluated."""

    traced: TracedPolicies
    webhook: Webhook
    applicable: Applicable
    matches: list[Matched]

    def run(
        self, *, brief: bool = False
    ) -> tuple[AdmissionResponse, Mapping[tuple[str, str], Notes]]:
        """Return the response and the record of each policy, by its ``sort_key``. ``brief``:
        records only expressions that failed or were false.
        """
        applicable = self.applicable
        observer = StoryObserver(self.traced.tracer, brief=brief)
        findings = Findings(
            applicable.subjects.request,
            self.webhook,
            self.traced.policies.generation,
            Recorder(),
            observer,
        )
        response = evaluate(applicable, findings, self.matches, 0)
        observer.done()
        return response, observer.notes

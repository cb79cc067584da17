"""An Observer that records each policy's steps for one request as visits of its story. Decides
nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from policyd._core.eval.tracing import Tracer
from policyd._core.patch.apply import diff
from policyd._core.plan.plan import Subject
from policyd._core.values.errors import CelError
from policyd.admission.decision import Finding
from policyd.admission.invocation import Invocation
from policyd.admission.observer import Observer
from policyd.admission.staging import Stage
from policyd.cel.trace.building import TreeBuilder
from policyd.cel.trace.reads import ObjectFields
from policyd.json_types import JSONObject
from policyd.offline.stories import Applied, Visit
from policyd.policy.compile.compiled import Binding, CompiledMutation, CompiledPolicy
from policyd.policy.compile.exemptions import Exemption


@dataclass(slots=True)
class Notes:
    """The record of one policy so far; ``findings`` and ``ignored`` are outside of visits."""

    visits: list[Visit] = field(default_factory=list)
    bindings: list[tuple[str, bool]] = field(default_factory=list)
    params: list[tuple[str, int]] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)
    stage: Stage | None = None
    findings: list[Finding] = field(default_factory=list)
    ignored: list[Finding] = field(default_factory=list)


class StoryObserver(Observer):
    """Records all policies of one request. ``tracer`` records their expressions; ``brief`` keeps
    only expressions that failed or were false.
    """

    def __init__(self, tracer: Tracer, *, brief: bool = False) -> None:
        self.notes: dict[tuple[str, str], Notes] = {}
        self._tracer = tracer
        self._brief = brief
        self._again = False
        # Since the last visit: findings and whether each counts, and the effects of mutations.
        self._found: list[tuple[Finding, bool]] = []
        self._applied: list[Applied] = []
        # By the identity of a subject, which is kept alive here.
        self._fields: dict[int, tuple[Subject, ObjectFields]] = {}

    def of(self, policy: CompiledPolicy) -> Notes:
        """Return the record of a policy."""
        return self.notes.setdefault(policy.sort_key, Notes())

    def second_round(self) -> None:
        self._again = True

    def staged(self, policy: CompiledPolicy, stage: Stage) -> None:
        self.of(policy).stage = stage

    def exempted(self, policy: CompiledPolicy, exemptions: Sequence[Exemption]) -> None:
        self.of(policy).exceptions.extend(map(_shown, exemptions))

    def matched_binding(self, policy: CompiledPolicy, binding: Binding, fits: bool) -> None:
        if not self._again:
            self.of(policy).bindings.append((binding.name, fits))

    def found_params(self, policy: CompiledPolicy, binding: Binding, count: int) -> None:
        if not self._again:
            self.of(policy).params.append((binding.name, count))

    def applies(self, invocation: Invocation) -> None:
        self.done()  # earlier findings concern the policy's configuration

    def validated(self, invocation: Invocation) -> None:
        self.of(invocation.policy).visits.append(self._visit(invocation, validates=True))

    def mutated(
        self,
        invocation: Invocation,
        mutation: CompiledMutation,
        before: JSONObject,
        after: JSONObject,
        error: str,
    ) -> None:
        mutations = invocation.policy.mutations
        number = next(i for i, each in enumerate(mutations) if each is mutation)
        operations = tuple(diff(before, after, None))
        self._applied.append(Applied(number, mutation.kind, operations, error))

    def invoked(self, invocation: Invocation, *, again: bool, passed_over: bool) -> None:
        visit = self._visit(invocation, again=again)
        if visit.findings or not passed_over:
            self.of(invocation.policy).visits.append(visit)

    def found(self, finding: Finding, counts: bool) -> None:
        self._found.append((finding, counts))

    def done(self) -> None:
        """Record findings outside of visits: errors of the configuration, bugs in policyd."""
        self._tracer.take()
        for finding, counts in self._take_found():
            notes = self.of(finding.policy)
            (notes.findings if counts else notes.ignored).append(finding)

    def _visit(self, invocation: Invocation, **more: Any) -> Visit:
        """Return a visit with everything recorded since the last one."""
        found = self._take_found()
        applied, self._applied = tuple(self._applied), []
        subject = invocation.subject
        fields = self._fields_of(subject)
        records = self._tracer.take()
        builder = TreeBuilder(fields, records)
        if self._brief:
            records = [e for e in records if e.value is False or isinstance(e.value, CelError)]
        return Visit(
            binding=invocation.binding.name,
            actions=invocation.binding.actions,
            param=invocation.param,
            as_pod=invocation.as_pod,
            lifted=frozenset(invocation.exempt),
            expressions=tuple(map(builder.steps, records)),
            mutations=applied,
            findings=tuple(finding for finding, counts in found if counts),
            ignored=tuple(finding for finding, counts in found if not counts),
            fields=fields,
            within=subject.within,
            **more,
        )

    def _fields_of(self, subject: Subject) -> ObjectFields:
        """Return the fields of the object that policies see, which many policies share."""
        if id(subject) not in self._fields:
            fields = ObjectFields("object", subject.object)
            if subject.object is None:
                fields = ObjectFields("oldObject", subject.old_object)
            self._fields[id(subject)] = subject, fields
        return self._fields[id(subject)][1]

    def _take_found(self) -> list[tuple[Finding, bool]]:
        found, self._found = self._found, []
        return found


def _shown(exemption: Exemption) -> str:
    """Return the name of an exception; of a PolicyException with its file."""
    where = exemption.document
    return f"{exemption.name} ({where})" if where else exemption.name

"""Finds the matching policies of one request, their bindings and params, and the exceptions.
Evaluates no expression.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policyd._core.match.matcher import Hit, MatchInput, input_of
from policyd._core.plan.plan import Subject
from policyd._core.values.errors import CelError
from policyd.admission.findings import Findings
from policyd.admission.invocation import NO_VALIDATIONS, Invocation, Matched
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.lookups.sources import NamespaceSource, ParamSource
from policyd.admission.metadata import name_so_far
from policyd.admission.review import AdmissionRequest
from policyd.admission.staging import stage_of
from policyd.admission.subject import Subjects
from policyd.errors import Unanswered
from policyd.json_types import JSON
from policyd.policy.compile.compiled import Binding, CompiledPolicy, PolicyFilter
from policyd.policy.compile.exemptions import Exemption, ExemptionInput
from policyd.policy.compile.params import KnownParamKind, ParamError, without_type
from policyd.policy.compile.policy_set import CompiledPolicySet, MatchIndex
from policyd.policy.compile.reads.read_tables import ReadSource
from policyd.policy.compile.rollouts import CompiledRollout
from policyd.policy.kinds.controllers import CONTROLLERS
from policyd.policy.model.suite import Webhook

_NONE: frozenset[tuple[str, str]] = frozenset()

_INDEXES: Mapping[Webhook, MatchIndex] = {
    "validate": MatchIndex.VALIDATE,
    "mutate": MatchIndex.MUTATE,
}


class Applicable:
    """The policies that apply to one request at one webhook. Call ``match`` first; ``match_anew``
    starts the second round of mutations, in which policies see the object after the first round.
    """

    __slots__ = (
        "_found",
        "_index",
        "_only",
        "_params",
        "by_template",
        "object",
        "policies",
        "request",
        "subjects",
        "view",
    )

    def __init__(
        self, policies: CompiledPolicySet, subjects: Subjects, params: ParamSource, webhook: Webhook
    ) -> None:
        self.policies = policies
        self.subjects = subjects
        self.request = request = subjects.request
        self.object: JSON = request.object  # the object at the time of matching
        self.view = self._view(request.object, request.old_object)
        # The policies (by sort_key) that see the Pod of the object's template.
        self.by_template = _NONE
        self._params = params
        self._index = _INDEXES[webhook]
        self._only: PolicyFilter | None
        self._found: list[Matched]

    def match(self, only: PolicyFilter | None) -> list[Matched]:
        """Return the policies that match the request, in the order of decisions."""
        self._only = only
        self._found = found = self._matches(self._index)
        return found

    def match_anew(self, changed: JSON) -> list[Matched]:
        """Return the policies that match the changed object and act in a second round; from now on
        policies see the changed object.
        """
        self.object, self.subjects = changed, self.subjects.showing(changed)
        if self.policies.steady and self.request.resource[2] not in CONTROLLERS:
            return self._found
        self.view = self._view(_selectable(changed), self.request.old_object)
        self.by_template = _NONE
        return self._matches(MatchIndex.AGAIN)

    def as_pod(self, policy: CompiledPolicy) -> bool:
        """Whether the policy sees the Pod of the object's template."""
        return bool(self.by_template) and policy.sort_key in self.by_template

    def pod_view(self, obj: JSON) -> MatchInput | None:
        """Return the request with the Pod of the template of ``obj`` as its object, or None."""
        pod = self.subjects.pod(obj)
        if pod is None:
            return None
        return self._view(pod, self.subjects.pod(self.request.old_object))

    def invocations(self, match: Matched, findings: Findings) -> Iterator[Invocation]:
        """Yield a matched policy under each binding and param that applies; configuration errors
        go to ``findings``.
        """
        policy, hit = match
        once = policy.invoked_once and not hit.error
        if policy.rollout is not None and not self._staged(policy, policy.rollout, findings):
            return
        if not once and not self._usable(policy, hit, findings):
            return
        as_pod, observer = self.as_pod(policy), findings.observer
        subject, exempt = self.subjects.subject(hit, as_pod), NO_VALIDATIONS
        if once:
            invocation = Invocation(policy, policy.bindings[0], policy.params, subject, hit, as_pod)
            if observer is not None:
                observer.applies(invocation)
            yield invocation
            return
        if policy.exemptions:
            lifted = self._exempt(policy, subject, findings)
            if lifted is None:
                return
            exempt = lifted
        for binding in policy.bindings:
            fits = self._fits(policy, binding, findings)
            if observer is not None:
                observer.matched_binding(policy, binding, fits)
            if not fits:
                continue
            for param in self._collected(policy, binding, findings):
                invocation = Invocation(policy, binding, param, subject, hit, as_pod, exempt)
                if observer is not None:
                    observer.applies(invocation)
                yield invocation

    def questions(self, match: Matched) -> list[object]:
        """Return the lookups that the rollout, bindings and params of a policy depend on."""
        policy, hit = match
        questions: list[object] = []
        param_kind = None if policy.problem or hit.error else policy.param_kind
        kind: KnownParamKind | None = None
        try:
            if policy.rollout is not None:
                stage_of(policy.rollout, policy.name, self.request, self.view)
        except Unanswered as unknown:
            questions.append(unknown.question)
        try:
            if param_kind is not None and policy.bindings:
                kind = self._params.kind(param_kind)
        except ParamError:
            pass  # becomes a finding when the policy is evaluated
        except Unanswered as unknown:
            questions.append(unknown.question)
        for binding in policy.bindings:
            try:
                if binding.rules is not None:
                    fits = binding.rules.match(self.view)
                    if fits is None or fits.error:
                        continue
                if kind is not None and binding.param_ref is not None:
                    self._params.collect(kind, binding.param_ref, self.request.namespace)
            except ParamError:
                continue
            except Unanswered as unknown:
                questions.append(unknown.question)
        return questions

    def _view(self, obj: JSON, old: JSON) -> MatchInput:
        """Return the matcher's view of the request with these objects."""
        labels = self.subjects.namespaces.labels
        return input_of(self.request, labels, obj, old, self.policies.equivalents)

    def _matches(self, index: MatchIndex) -> list[Matched]:
        request, only = self.request, self._only
        found = self.policies.direct[index].match(self.view)
        if request.resource[2] in CONTROLLERS and not request.sub_resource:
            found = self._with_controllers(found, index)
        return found if only is None else [match for match in found if only(match[0])]

    def _with_controllers(self, found: list[Matched], index: MatchIndex) -> list[Matched]:
        """Add to ``found`` the policies that match the template; these see only the Pod."""
        view = self.pod_view(self.object)
        if view is None:
            return found
        as_pods = self.policies.controllers[index].match(view)
        if as_pods:
            self.by_template = frozenset(policy.sort_key for policy, _ in as_pods)
            found = [match for match in found if match[0].sort_key not in self.by_template]
            found += as_pods
            found.sort(key=lambda match: match[0].sort_key)
        return found

    def _staged(self, policy: CompiledPolicy, rollout: CompiledRollout, findings: Findings) -> bool:
        """Decide once for a request whether the policy is enforced; False if that fails."""
        if findings.staged(policy):
            return True
        stage = stage_of(rollout, policy.name, self.request, self.view)
        if stage.problem:
            text = f"failed to configure policy: rollout: {stage.problem}"
            findings.misconfigured(policy, text, None)
            return False
        findings.stage(policy, "" if stage.enforced else stage.why)
        if findings.observer is not None:
            findings.observer.staged(policy, stage)
        return True

    def _usable(self, policy: CompiledPolicy, hit: Hit, findings: Findings) -> bool:
        """Whether the policy's configuration is usable for this request; if not, add the error."""
        problem = policy.problem or hit.error
        if not problem and policy.param_kind is not None and policy.bindings:
            try:
                self._params.kind(policy.param_kind)
            except ParamError as error:
                problem = str(error)
        if problem:
            findings.misconfigured(policy, f"failed to configure policy: {problem}", None)
        return not problem

    def _fits(self, policy: CompiledPolicy, binding: Binding, findings: Findings) -> bool:
        """Whether the binding's own match rules match the request."""
        if binding.rules is None:
            return True
        hit = binding.rules.match(self.view)
        if hit is not None and hit.error:
            text = f"failed to configure binding: {hit.error}"
            findings.misconfigured(policy, text, binding.name)
            return False
        return hit is not None

    def _collected(
        self, policy: CompiledPolicy, binding: Binding, findings: Findings
    ) -> list[JSON]:
        """Return the values of ``params`` for a binding, in the order of their names."""
        if policy.param_kind is None or binding.param_ref is None:
            return [policy.params]
        found: list[JSON] = []
        try:
            kind = self._params.kind(policy.param_kind)
            found += self._params.collect(kind, binding.param_ref, self.request.namespace)
            # A MutatingAdmissionPolicy does not see the type of built-in kinds (measured).
            if kind.builtin and policy.kind == "MutatingAdmissionPolicy":
                found = [without_type(param) for param in found]
        except ParamError as error:
            findings.misconfigured(policy, f"failed to configure binding: {error}", binding.name)
        if findings.observer is not None:
            findings.observer.found_params(policy, binding, len(found))
        return found

    def _exempt(
        self, policy: CompiledPolicy, subject: Subject, findings: Findings
    ) -> Mapping[int, Exemption] | None:
        """Return the exceptions that lift validations, by index; None if one lifts the policy."""
        request = self.request
        labels = self._labels(policy, subject)
        asked = ExemptionInput(
            request.operation,
            request.namespace,
            name_so_far(request),
            request.user_info,
            labels,
            request.kind,
            is_namespace=request.is_namespace,
        )
        known = policy.exemptions_near(asked.namespace, asked.name)
        applying = [each for each in known if each.applies(asked)]
        if findings.observer is not None:
            findings.observer.exempted(policy, applying)
        for exemption in applying:
            if not exemption.validations:
                findings.exempted(policy, exemption)
                return None
        return {index: each for each in reversed(applying) for index in each.validations}

    def _labels(self, policy: CompiledPolicy, subject: Subject) -> dict[str, str] | None:
        """Return the labels of the object that the policy sees; None if they cannot be read."""
        seen = subject.object if subject.object is not None else subject.old_object
        if self.request.unreadable:  # the object is an error, but its labels may be known
            sent = self.request.object or self.request.old_object
            seen = self.subjects.pod(sent) if self.as_pod(policy) else sent
        labels: JSON | CelError = seen
        for name in ("metadata", "labels"):
            labels = labels.get(name) if isinstance(labels, dict) else labels
        if labels is None:
            return {}
        if not isinstance(labels, dict):
            return None
        return labels if all(isinstance(each, str) for each in labels.values()) else None


@dataclass(frozen=True, slots=True)
class LookupSources:
    """The sources of data outside the request; None: the policy sources, or no source."""

    authorizer: Authorizer | None = None
    namespaces: NamespaceSource | None = None
    params: ParamSource | None = None
    reads: ReadSource | None = None

    def applicable(
        self, policies: CompiledPolicySet, request: AdmissionRequest, webhook: Webhook
    ) -> Applicable:
        """Return the policies that apply to a request at a webhook."""
        subjects = Subjects(
            request,
            self.namespaces or policies.namespaces,
            self.authorizer,
            schemas=policies.schemas,
            reads=self.reads or policies.reads,
        )
        return Applicable(policies, subjects, self.params or policies.params, webhook)


def _selectable(changed: JSON) -> JSON:
    """Return the object as selectors see it after mutations: without labels if one is not a string,
    which only custom resources allow (apimachinery, Unstructured.GetLabels).
    """
    metadata = changed.get("metadata") if isinstance(changed, dict) else None
    if not isinstance(changed, dict) or not isinstance(metadata, dict):
        return changed
    labels = metadata.get("labels")
    if not isinstance(labels, dict) or all(isinstance(each, str) for each in labels.values()):
        return changed
    return {**changed, "metadata": {**metadata, "labels": {}}}

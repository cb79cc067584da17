"""The policies that a suite tests, in the form that the suite runner expects. Runs no cases."""

from collections.abc import Iterable, Sequence
from functools import partial

from policyd.admission import engine
from policyd.admission.lookups.authorizer import Authorizer, StaticAuthorizer
from policyd.admission.recorder import PolicyEvent, Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse, to_dict
from policyd.defaulting.defaults import Defaults
from policyd.errors import PolicyError
from policyd.json_types import JSONObject
from policyd.offline.admitting import WebhookAnswer, in_turn
from policyd.policy.compile import compiler
from policyd.policy.compile.params import stored
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.kinds.definitions import definitions_among
from policyd.policy.kinds.mapping import ResourceMapper
from policyd.policy.model.suite import PolicyTest, Webhook
from policyd.policy.source import loader
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.suite.expectations import CaseAnswer, CaseNote
from policyd.policy.suite.missing_policies import missing_policies
from policyd.policy.suite.runner import Admit, Completed
from policyd.policy.suite.state import CaseState


class SuitePolicies:
    """Compiled policies that respond to the requests of cases: as if every rollout were over or, if
    ``staged``, as configured with no rollout over.
    """

    def __init__(
        self,
        compiled: CompiledPolicySet,
        authorizer: Authorizer | None = None,
        *,
        staged: bool = False,
    ) -> None:
        self._configured = compiled
        self._compiled = at_stage(compiled, staged=staged)
        self._authorizer = authorizer

    @classmethod
    def of(cls, suite: Document, whole: CompiledPolicySet) -> "SuitePolicies":
        """Return the policies that a PolicyTest document names, or the ``whole`` set, with the
        suite's ``authorizer``. Raises PolicyError for named policies that cannot be used.
        """
        compiled = whole
        if not isinstance(suite.model, PolicyTest):
            return cls(whole)
        if suite.model.policies is not None:
            files = {each.name: each.source for each in whole.policies}
            missing = list(missing_policies(suite, files))
            if missing:
                raise PolicyError(missing)
            compiled = compiler.compile_strict(loader.load_named(suite, version=whole.version))
        return cls(compiled, suite_authorizer(suite))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the policies, in the order of decisions."""
        return tuple(policy.name for policy in self._compiled.policies)

    @property
    def defaults(self) -> Defaults:
        """The defaults of the kinds that the policies know."""
        return self._compiled.defaults

    @property
    def mapper(self) -> ResourceMapper:
        """The resources of the kinds that the policies know."""
        return self._compiled.mapper

    def call(
        self, request: AdmissionRequest, webhook: Webhook, recorder: Recorder | None = None
    ) -> AdmissionResponse:
        """Return the response of one webhook."""
        return engine.review(
            self._compiled,
            request,
            webhook=webhook,
            recorder=recorder,
            authorizer=self._authorizer,
        )

    def admit(
        self, review: JSONObject, webhooks: tuple[Webhook, ...], completed: Completed = ""
    ) -> CaseAnswer:
        """Return the combined response of the webhooks, called in order; raises ReviewError."""
        notes = CaseNotes()
        call = partial(self.call, recorder=notes)
        defaults, built = self.defaults if completed else None, completed == "manifests"
        answers = in_turn(review, webhooks, call, defaults, built=built)
        return together(answers, notes, defaults)

    def knowing(self, state: CaseState) -> "SuitePolicies":
        """Return the same policies in a cluster with this state."""
        compiled = with_state(self._configured, state)
        authorizer = authorizer_in(state, self._authorizer)
        return SuitePolicies(compiled, authorizer, staged=state.staged)

    def admitting(self, state: CaseState) -> Admit:
        """Return ``admit`` of the same policies in a cluster with this state."""
        return self.knowing(state).admit


class CaseNotes(Recorder):
    """Collects the violations that deny a request, and the errors of policies."""

    def __init__(self) -> None:
        self.denials: dict[CaseNote, None] = {}
        self.errors: dict[CaseNote, None] = {}

    def happened(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        """Note a denial or an error; a second round of mutations may repeat one."""
        if event.what == "denial":
            self.denials[CaseNote(event.policy, event.message)] = None
        elif event.what == "error":
            self.errors[CaseNote(event.policy, event.message)] = None


def at_stage(compiled: CompiledPolicySet, *, staged: bool) -> CompiledPolicySet:
    """Return the same policies with all rollouts over, or with none over. Their reads find objects
    among the policies and in the case.
    """
    return (compiled.staged if staged else compiled.enforced).reading(())


def with_state(compiled: CompiledPolicySet, state: CaseState) -> CompiledPolicySet:
    """Return the same policies with the namespaces and objects of a case. Definitions among the
    objects count as part of the policies.
    """
    compiled = compiled.with_definitions(definitions_among(state.objects))
    compiled = compiled.with_namespaces(state.namespaces)
    if not state.objects:
        return compiled
    objects: Sequence[JSONObject] = state.objects
    if state.defaults:
        objects = [stored(each, compiled.mapper, compiled.defaults) for each in objects]
    return compiled.with_params(compiled.params.including(objects))


def authorizer_in(state: CaseState, usual: Authorizer | None) -> Authorizer | None:
    """Return the authorizer of a case: its own, or the suite's ``usual`` authorizer."""
    return usual if state.authorizer is None else StaticAuthorizer(state.authorizer)


def together(
    answers: Iterable[WebhookAnswer],
    notes: CaseNotes | None = None,
    defaults: Defaults | None = None,
) -> CaseAnswer:
    """Combine the responses of the webhooks and the notes about them into the form that a suite's
    case checks.
    """
    warnings: list[str] = []
    annotations: dict[str, str] = {}
    patch: list[JSONObject] = []
    response: AdmissionResponse | None = None
    after = None
    for each in answers:
        response, after = each.response, each.after
        warnings += response.warnings
        annotations |= response.audit_annotations
        patch += each.operations
    shown = {"allowed": True} if response is None else to_dict(response)["response"]
    denials, errors = ((), ()) if notes is None else (tuple(notes.denials), tuple(notes.errors))
    if notes is not None and response is not None and not (response.allowed or denials or errors):
        # A mutation whose result the API server would not accept: no policy is at fault alone.
        errors = (CaseNote("mutations", response.message),)
    completed = None if defaults is None else defaults.applied
    return CaseAnswer(shown, tuple(warnings), annotations, patch, after, denials, errors, completed)


def suite_authorizer(suite: Document) -> Authorizer | None:
    """Return the authorizer for a suite's cases, from the rules in the suite itself."""
    rules = suite.model.authorizer if isinstance(suite.model, PolicyTest) else None
    return None if rules is None else StaticAuthorizer(rules)


def suite_sources(suite: Document, whole: Sources) -> Sources:
    """Return the documents of the policies that a suite tests: the named ones, or all."""
    if loader.named_policies(suite) is None:
        return whole
    return loader.require(loader.load_named(suite, version=whole.version))

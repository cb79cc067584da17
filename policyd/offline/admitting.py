"""Send one request through the webhooks as the API server does, first mutating, then validating.
For commands with many objects; the server would give the same responses.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import Literal, NamedTuple

import orjson

from policyd._core.patch.apply import apply
from policyd.admission.applicable import LookupSources
from policyd.admission.decision import Finding
from policyd.admission.engine import evaluate
from policyd.admission.findings import Findings
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.lookups.sources import NamespaceSource, ParamSource
from policyd.admission.review import AdmissionRequest, AdmissionResponse, Cause, decode
from policyd.defaulting.defaults import Defaults
from policyd.json_types import JSON, JSONObject
from policyd.offline.fields import FieldFinder, WebhookFindings
from policyd.offline.ignored import EffectRecorder, IgnoredError, UnappliedMutation
from policyd.policy.compile.compiled import PolicyFilter
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.compile.reads.read_tables import ReadSource
from policyd.policy.model.suite import Webhook

BOTH: tuple[Webhook, ...] = ("mutate", "validate")
Effect = Literal["deny", "would_deny", "warn", "audit"]
_EFFECTS: Mapping[str, Effect] = {"Deny": "deny", "Warn": "warn", "Audit": "audit"}


class WebhookAnswer(NamedTuple):
    """One webhook's response. ``operations`` are its patch, ``after`` is the patched object.

    If a manifest gets defaults, ``before`` and ``after`` are without them.
    """

    webhook: Webhook
    response: AdmissionResponse
    before: JSON
    operations: list[JSONObject]
    after: JSON


def in_turn(
    review: Mapping[str, JSON] | bytes,
    webhooks: tuple[Webhook, ...],
    call: Callable[[AdmissionRequest, Webhook], AdmissionResponse],
    defaults: Defaults | None = None,
    *,
    built: bool = True,
) -> Iterator[WebhookAnswer]:
    """Call the webhooks one after another: each gets the object that the previous one returned, and
    a denial ends the sequence. Raises ReviewError if ``review`` is not an AdmissionReview.
    ``defaults`` and ``built`` are the same as in ``Turns``.
    """
    request = decode(review if isinstance(review, bytes) else dict(review))
    turns = Turns(request, webhooks, defaults, built=built)
    for request, webhook in turns:
        yield turns.add(call(request, webhook))


class Turns:
    """The requests to webhooks that are called one after another. The caller calls them,
    synchronously or not, and adds each response before it takes the next request.

    Like the API server, applies ``defaults`` after each change, and before the first webhook if the
    request was ``built`` from manifests, which lack them. None applies none.
    """

    def __init__(
        self,
        request: AdmissionRequest,
        webhooks: tuple[Webhook, ...],
        defaults: Defaults | None = None,
        *,
        built: bool = True,
    ) -> None:
        self._defaults = defaults
        self._built = built
        self._manifest = request.object
        if defaults is not None and built:
            request = AdmissionRequest(defaults.request(request.raw), request.unreadable)
        self._request = request
        self._webhooks = webhooks
        self._webhook = webhooks[0]
        self._allowed = True

    def __iter__(self) -> Iterator[tuple[AdmissionRequest, Webhook]]:
        for webhook in self._webhooks:
            if self._allowed:
                self._webhook = webhook
                yield self._request, webhook

    def add(self, response: AdmissionResponse) -> WebhookAnswer:
        """Add the response to the latest request; return it with the patched object."""
        before = self._manifest
        operations: list[JSONObject] = []
        if response.patch is not None:
            operations = orjson.loads(response.patch)
            operations = self._change(operations, apply(operations, self._request.object))
        self._allowed = response.allowed
        return WebhookAnswer(self._webhook, response, before, operations, self._manifest)

    def _change(self, operations: list[JSONObject], after: JSON) -> list[JSONObject]:
        """Keep the patched object; return the operations that change the manifest."""
        request, defaults = self._request, self._defaults
        if defaults is not None and self._built:
            operations, self._manifest = defaults.changes(self._manifest, request.object, after)
        else:
            self._manifest = after
        changed = after if defaults is None else defaults.applied(after)
        self._request = AdmissionRequest({**request.raw, "object": changed}, request.unreadable)
        return operations


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation by a request. ``error``: the policy could not be evaluated. ``index`` is that
    of the validation; 0 for other errors. ``rollout`` says why it does not deny, for
    ``would_deny``. ``field`` is the path of its field in the given object; empty for the whole
    object or if unknown.
    """

    policy: str
    kind: str
    binding: str
    outcome: Effect
    message: str
    error: bool
    index: int = 0
    rollout: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """The combined result of the webhooks for a request.

    ``matched`` has the names of the policies that matched and have a binding. ``after`` is the
    object with the ``patch`` of the mutating webhook. ``message`` is the denial's. ``ignored`` has
    the errors that failurePolicy Ignore dropped, ``held`` the mutations that a rollout did not
    apply. ``seconds`` is the time that the decision took.
    """

    allowed: bool
    message: str
    causes: tuple[Cause, ...]
    code: int
    violations: tuple[Violation, ...]
    warnings: tuple[str, ...]
    matched: tuple[str, ...]
    patch: tuple[JSONObject, ...]
    after: JSON
    ignored: tuple[IgnoredError, ...] = ()
    held: tuple[UnappliedMutation, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Admitter:
    """Evaluates requests with compiled policies. ``authorizer`` answers the checks of expressions;
    ``namespaces``, ``params`` and ``reads`` replace the policies' own sources. ``defaults`` and
    ``built`` are the same as in ``Turns``. ``fields`` finds the fields of violations; without it
    they have none.
    """

    policies: CompiledPolicySet
    authorizer: Authorizer | None = None
    namespaces: NamespaceSource | None = None
    params: ParamSource | None = None
    reads: ReadSource | None = None
    defaults: Defaults | None = None
    built: bool = True
    fields: FieldFinder | None = None

    def knowing(self, namespace: JSONObject) -> "Admitter":
        """Return a copy with one more Namespace object than the sources have."""
        return replace(self, policies=self.policies.with_namespaces([namespace]), namespaces=None)

    def admit(
        self,
        review: Mapping[str, JSON] | bytes,
        webhooks: tuple[Webhook, ...] = BOTH,
        only: PolicyFilter | None = None,
    ) -> Admission:
        """Call the mutating webhook, then the validating one with the mutated object. ``only``
        selects the policies to evaluate.

        Raises ReviewError if ``review`` is not an AdmissionReview.
        """
        policies = self.policies
        namespaces, params = self.namespaces or policies.namespaces, self.params or policies.params
        lookups = LookupSources(self.authorizer, namespaces, params, self.reads)
        calls: list[WebhookFindings] = []
        matched: dict[str, None] = {}
        held: list[UnappliedMutation] = []

        def call(request: AdmissionRequest, webhook: Webhook) -> AdmissionResponse:
            applicable = lookups.applicable(policies, request, webhook)
            matches = applicable.match(only)
            matched.update((policy.name, None) for policy, _ in matches if policy.bindings)
            effects = EffectRecorder()
            findings = Findings(request, webhook, policies.generation, effects)
            response = evaluate(applicable, findings, matches, 0)
            held.extend(effects.held)
            found = findings.verdict.findings
            errors, unknown = effects.ignored(found), [""] * len(found)
            calls.append(WebhookFindings(request, webhook, found, errors, unknown))
            return response

        started = perf_counter_ns()
        answers = list(in_turn(review, webhooks, call, self.defaults, built=self.built))
        seconds = (perf_counter_ns() - started) / 1e9
        if self.fields is not None:
            manifest = answers[0].before
            calls = [self.fields.located(each, manifest, lookups, only) for each in calls]
        last = answers[-1].response
        return Admission(
            allowed=last.allowed,
            message="" if last.allowed else last.message,
            causes=() if last.allowed else last.causes or (Cause(last.message),),
            code=0 if last.allowed else last.code,
            violations=tuple(
                each
                for call in calls
                for finding, field in zip(call.findings, call.fields, strict=True)
                for each in _violations(finding, field)
            ),
            warnings=tuple(each for one in answers for each in one.response.warnings),
            matched=tuple(matched),
            patch=tuple(each for one in answers for each in one.operations),
            after=answers[-1].after,
            ignored=tuple(each for call in calls for each in call.ignored),
            held=tuple(held),
            seconds=seconds,
        )


def _violations(finding: Finding, field: str) -> Iterator[Violation]:
    """Yield one violation for each action of the binding, and one if the rollout holds a denial."""
    policy = finding.policy
    effects: list[Effect] = [_EFFECTS[action] for action in finding.actions]
    if finding.rollout:
        effects = ["would_deny"]
    for effect in effects:
        yield Violation(
            policy.name,
            policy.kind,
            finding.binding or "",
            effect,
            finding.message,
            finding.error,
            finding.index,
            finding.rollout,
            field,
        )

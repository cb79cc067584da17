"""Decides which webhooks the API server calls for one request.

Follows k8s.io/apiserver ``pkg/admission/plugin/webhook``: ``generic/webhook.go`` decides for one
webhook, the dispatchers of ``mutating`` and ``validating`` for all of them.
"""

from collections.abc import Sequence

from policyd._core.match.equivalents import EQUIVALENTS, Equivalents
from policyd.admission.lookups.authorizer import Authorizer
from policyd.json_types import JSONObject
from policyd.versions import NEWEST, KubernetesVersion
from policyd.webhooks.calls.deciding import Decider
from policyd.webhooks.calls.model import (
    Calls,
    Hook,
    HookCall,
    HookOutcome,
    NotCalled,
    Rejection,
)
from policyd.webhooks.validation.hooks import NO_SIDE_EFFECTS


def called(
    hooks: Sequence[Hook],
    request: JSONObject,
    *,
    namespaces: Sequence[JSONObject] = (),
    equivalents: Equivalents = EQUIVALENTS,
    authorizer: Authorizer | None = None,
    version: KubernetesVersion = NEWEST,
) -> Calls:
    """Return the calls for the ``request`` of an AdmissionReview; ``hooks_of`` reads the webhooks
    once for many requests.

    ``namespaces`` are Namespace objects; for others only the name is known.
    """
    decider = Decider(request, namespaces, equivalents, authorizer, version)
    found = [decider.decide(hook) for hook in hooks]
    dry_run = request.get("dryRun") is True
    mutating, validating = _Phase(dry_run), _Phase(dry_run)
    mutating.in_turn([each for each in found if each.hook.mutates])
    validating.at_once([each for each in found if not each.hook.mutates], mutating.rejection)
    return Calls(
        tuple(mutating.calls),
        tuple(validating.calls),
        (*mutating.others, *validating.others),
        mutating.rejection or validating.rejection,
    )


class _Phase:
    """The webhooks of one kind. The first one that cannot be called rejects the request."""

    def __init__(self, dry_run: bool) -> None:
        self._dry_run = dry_run
        self.calls: list[HookCall] = []
        self.others: list[NotCalled] = []
        self.rejection: Rejection | None = None

    def in_turn(self, found: list[HookOutcome]) -> None:
        """Call mutating webhooks one after the other, until one rejects the request."""
        for each in found:
            self._call(each, self.rejection)

    def at_once(self, found: list[HookOutcome], former: Rejection | None) -> None:
        """Call validating webhooks together: one that cannot be called prevents all calls."""
        own = next((each for each in found if isinstance(each, Rejection)), None)
        for each in found:
            self._call(each, former or own)

    def _call(self, found: HookOutcome, rejection: Rejection | None) -> None:
        """Call a webhook, unless the ``rejection`` of another webhook prevents it."""
        if rejection is not None and found is not rejection and not isinstance(found, NotCalled):
            other = f"{rejection.hook.configuration}/{rejection.hook.name}"
            text = f"the API server rejects the request at {other}"
            found = NotCalled(found.hook, "rejection", text)
        elif isinstance(found, HookCall) and self._dry_run:
            found = _in_dry_run(found)
        if isinstance(found, Rejection):
            self.rejection = self.rejection or found
            text = f"the API server rejects the request: {found.message}"
            found = NotCalled(found.hook, found.part, text)
        if isinstance(found, NotCalled):
            self.others.append(found)
        else:
            self.calls.append(found)


def _in_dry_run(call: HookCall) -> HookOutcome:
    """Return the outcome of a call in a dry run: webhooks with side effects are not called."""
    hook = call.hook
    effects = hook.fields.get("sideEffects")
    if effects in NO_SIDE_EFFECTS:
        return call
    if effects is not None:
        message = f'admission webhook "{hook.name}" does not support dry run'
        return Rejection(hook, 400, message, "sideEffects")
    if hook.fails:
        message = f'failed calling webhook "{hook.name}": Webhook SideEffects is nil'
        return Rejection(hook, 500, f"Internal error occurred: {message}", "sideEffects")
    text = "the request is a dry run, and the webhook has no sideEffects"
    return NotCalled(hook, "sideEffects", text)

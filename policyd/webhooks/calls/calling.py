"""Decide which webhooks the API server calls for one request.

Follows k8s.io/apiserver ``pkg/admission/plugin/webhook``: ``generic/webhook.go`` decides for one
webhook, the dispatchers of ``mutating`` and ``validating`` for all of them.
"""

from collections.abc import Sequence

from policyd._core.match.equivalents import EQUIVALENTS, Equivalents
from policyd.admission.lookups.authorizer import Authorizer
from policyd.json_types import JSONObject
from policyd.versions import NEWEST, KubernetesVersion
from policyd.webhooks.calls.deciding import Decider
from policyd.webhooks.calls.model import Calls, Hook, HookCall, NotCalled, Rejection
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
    """Return the webhooks that are called for the ``request`` of an AdmissionReview; ``hooks_of``
    reads them once for many requests.

    ``namespaces`` are Namespace objects; of any other namespace only its name is known.
    """
    decider = Decider(request, namespaces, equivalents, authorizer, version)
    found = [decider.decide(hook) for hook in hooks]
    dry_run = request.get("dryRun") is True
    mutating = _Phase([each for each in found if each.hook.mutates], dry_run)
    mutating.in_turn()
    validating = _Phase([each for each in found if not each.hook.mutates], dry_run)
    validating.at_once(mutating.rejection)
    return Calls(
        tuple(mutating.calls),
        tuple(validating.calls),
        (*mutating.others, *validating.others),
        mutating.rejection or validating.rejection,
    )


class _Phase:
    """The webhooks of one kind. The first one that cannot be called rejects the request."""

    def __init__(self, found: list[HookCall | NotCalled | Rejection], dry_run: bool) -> None:
        self._found = found
        self._dry_run = dry_run
        self.calls: list[HookCall] = []
        self.others: list[NotCalled] = []
        self.rejection: Rejection | None = None

    def in_turn(self) -> None:
        """Call mutating webhooks one after the other."""
        for each in self._found:
            if isinstance(each, NotCalled):
                self.others.append(each)
            elif self.rejection is not None:
                self.others.append(_not_reached(each.hook, self.rejection))
            else:
                self._call(each)

    def at_once(self, former: Rejection | None) -> None:
        """Call validating webhooks: none of them before it is known which."""
        rejections = [each for each in self._found if isinstance(each, Rejection)]
        rejection = former or (rejections[0] if rejections else None)
        for each in self._found:
            if isinstance(each, NotCalled):
                self.others.append(each)
            elif rejection is None or each is rejection:
                self._call(each)
            else:
                self.others.append(_not_reached(each.hook, rejection))

    def _call(self, found: HookCall | Rejection) -> None:
        refused = self._refused(found) if isinstance(found, HookCall) else found
        if isinstance(refused, NotCalled):
            self.others.append(refused)
        elif refused is not None:
            self.rejection = self.rejection or refused
            text = f"the API server rejects the request: {refused.message}"
            self.others.append(NotCalled(found.hook, refused.part, text))
        elif isinstance(found, HookCall):
            self.calls.append(found)

    def _refused(self, call: HookCall) -> Rejection | NotCalled | None:
        """Return what becomes of a dry run, if the webhook has effects beside its answer."""
        hook = call.hook
        effects = hook.fields.get("sideEffects")
        if not self._dry_run or effects in NO_SIDE_EFFECTS:
            return None
        if effects is not None:
            message = f'admission webhook "{hook.name}" does not support dry run'
            return Rejection(hook, 400, message, "sideEffects")
        if hook.fails:
            message = f'failed calling webhook "{hook.name}": Webhook SideEffects is nil'
            return Rejection(hook, 500, f"Internal error occurred: {message}", "sideEffects")
        text = "the request is a dry run, and the webhook has no sideEffects"
        return NotCalled(hook, "sideEffects", text)


def _not_reached(hook: Hook, rejection: Rejection) -> NotCalled:
    other = rejection.hook
    reason = f"the API server rejects the request at {other.configuration}/{other.name}"
    return NotCalled(hook, "rejection", reason)

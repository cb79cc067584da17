"""Decides for one webhook whether the API server calls it for a request.

Follows k8s.io/apiserver ``pkg/admission/plugin/webhook/generic/webhook.go``. If several parts do
not match, the reason is the first that people check: rules, selectors, conditions.
"""

from collections.abc import Sequence
from typing import NamedTuple

from policyd._core.lib import authz
from policyd._core.lib.authorization import Attributes
from policyd._core.match.equivalents import Equivalents
from policyd._core.match.labels import NAMESPACE_NAME
from policyd._core.match.matcher import Hit, MatchInput, MatchRules
from policyd._core.match.unseen_resources import REVIEWS
from policyd._core.plan.plan import Subject
from policyd._core.values.errors import CelError
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import AdmissionRequest
from policyd.admission.subject import Subjects
from policyd.errors import CelCompileError, CostExceeded, Unanswered
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.mutation.schemas.typed_variables import typed_variables
from policyd.policy.compile.params import Namespaces, UnknownReads
from policyd.versions import KubernetesVersion
from policyd.webhooks.calls.model import Hook, HookCall, HookOutcome, NotCalled, Rejection
from policyd.webhooks.calls.reasons import (
    namespace_reason,
    object_reason,
    resource_text,
    rules_reasons,
)
from policyd.webhooks.changes import NEVER_SENT, REVIEWS_EXCLUDED
from policyd.webhooks.validation.conditions import compiled, trimmed

_FORBIDDEN, _INTERNAL = 403, 500


class Decider:
    """Matches webhooks with one request."""

    def __init__(
        self,
        request: JSONObject,
        namespaces: Sequence[JSONObject],
        equivalents: Equivalents,
        authorizer: Authorizer | None,
        version: KubernetesVersion,
    ) -> None:
        self._namespaces = Namespaces(namespaces)
        self._equivalents = equivalents
        self._version = version
        exempt = NEVER_SENT | REVIEWS if version.has(REVIEWS_EXCLUDED) else NEVER_SENT
        self._view = MatchInput(
            request, self._namespaces.labels, equivalents=equivalents, never=exempt
        )
        self._subjects = Subjects(
            AdmissionRequest(request),
            self._namespaces,
            authorizer or UnknownPermissions(),
            schemas=Schemas.builtin(version),
            reads=UnknownReads("webhook configurations read no objects"),
        )

    def decide(self, hook: Hook) -> HookOutcome:
        """Return whether the webhook is called, or rejects the request instead."""
        view, fields = self._view, hook.fields
        if view.never_matched:
            kind = view.request_kind[2] or resource_text(view.request_resource)
            return NotCalled(hook, "kind", f"objects of kind {kind} are never sent to webhooks")
        found = self._ruled(fields)
        if found is None:
            nearest, *others = rules_reasons(fields, view)
            return NotCalled(hook, "rules", nearest, others=tuple(others))
        index, hit = found
        if hit.error:
            return _internal(hook, hit.error)
        selector = fields["namespaceSelector"]
        selected = MatchRules(namespace_selector=selector).match(view)
        if selected is None:
            reason = namespace_reason(selector, view, self._knows_namespace)
            return NotCalled(hook, "namespaceSelector", reason)
        if not selected.error:
            selected = MatchRules(object_selector=fields["objectSelector"]).match(view)
            if selected is None:
                reason = object_reason(fields["objectSelector"], view)
                return NotCalled(hook, "objectSelector", reason)
        if selected.error:
            return _internal(hook, selected.error)
        return self._conditions(hook, hit) or HookCall(
            hook, index, hit.resource, hit.kind, tuple(self._notes(fields, hit))
        )

    def _ruled(self, fields: JSONObject) -> tuple[int, Hit] | None:
        """Return the matching rule; rules that name the resource itself come first."""
        rules = fields.get("rules", [])
        ways = ("Exact", "Equivalent") if fields["matchPolicy"] == "Equivalent" else ("Exact",)
        for way in ways:
            for index, rule in enumerate(rules):
                hit = MatchRules([rule], match_policy=way).match(self._view)
                if hit is not None:
                    return index, hit
        return None

    def _conditions(self, hook: Hook, hit: Hit) -> NotCalled | Rejection | None:
        """Return why the matchConditions do not hold; None if they do."""
        conditions = hook.fields.get("matchConditions", [])
        if not conditions:
            return None
        subject = self._subjects.subject(hit, False)
        held = evaluate(conditions, subject, self._version, hit.mismatch)
        if held.false:
            return NotCalled(hook, "matchConditions", f"matchCondition {held.false!r} is false")
        if held.unknown:
            reason = f"not known: {held.unknown}"
            return NotCalled(hook, "matchConditions", reason, undecided=True)
        if held.error and hook.fails:
            message = f"{self._named()} is forbidden: {held.error}"
            return Rejection(hook, _FORBIDDEN, message, "matchConditions")
        if held.error:
            reason = f"failurePolicy is Ignore, and {held.error}"
            return NotCalled(hook, "matchConditions", reason)
        return None

    def _named(self) -> str:
        """Return the object as the API server names it in errors."""
        resource = resource_text(self._view.request_resource)
        return f'{resource} "{self._view.name}"' if self._view.name else resource

    @property
    def _knows_namespace(self) -> bool:
        """Whether the labels of the request's namespace are known, not only its name."""
        view = self._view
        if view.request_resource[2] == "namespaces":
            return True
        return view.namespace in self._namespaces

    def _notes(self, fields: JSONObject, hit: Hit) -> list[str]:
        """Return the uncertain assumptions of a call."""
        notes = []
        selector, view = fields["namespaceSelector"], self._view
        expressions = [each.get("key") for each in selector.get("matchExpressions", [])]
        read = {*selector.get("matchLabels", {}), *expressions} - {NAMESPACE_NAME}
        if read and view.namespace and not self._knows_namespace:
            notes.append(f"the labels of namespace {view.namespace} are not given")
        group, _, resource = view.request_resource
        family = self._equivalents.families.get((group, resource))
        if hit.resource not in (view.request_resource, view.resource) and family is None:
            notes.append(
                f"if the cluster serves {resource_text(hit.resource)} in {hit.resource[1]}"
            )
        return notes


def _internal(hook: Hook, error: str) -> Rejection:
    return Rejection(hook, _INTERNAL, f"Internal error occurred: {error}", "rules")


# k8s.io/apiserver pkg/apis/cel/config.go
PER_CALL_LIMIT = 1_000_000
CONDITIONS_BUDGET = 2_500_000
_OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


class UnknownPermissions:
    """An authorizer that does not know the user's permissions."""

    def check(self, attributes: Attributes) -> None:
        """Return None: the answer is not known."""


class Held(NamedTuple):
    """The result: no field is set if every condition is true.

    ``false``: the name of the first false one. ``error``: why they cannot be evaluated.
    ``unknown``: the missing information.
    """

    false: str = ""
    error: str = ""
    unknown: str = ""


def evaluate(
    conditions: Sequence[JSONObject],
    subject: Subject,
    version: KubernetesVersion,
    unconverted: str = "",
) -> Held:
    """Evaluate every condition: a false one decides, even if others are errors, unless all of them
    together cost too much.

    ``unconverted``: the error of reading an object that the API server would convert first.
    """
    variables = _variables(subject)
    typing = typed_variables(variables, version)
    budget = CONDITIONS_BUDGET
    errors: list[str] = []
    unknown = false = ""
    for condition in conditions:
        name, text = condition.get("name", ""), trimmed(condition.get("expression", ""))
        try:
            program = compiled(text, version)
            value, cost = program.evaluate_with_cost(
                variables, cost_limit=PER_CALL_LIMIT, typing=typing
            )
        except Unanswered:
            unknown = unknown or f"matchCondition {name!r} checks permissions of the user"
            continue
        except CostExceeded as error:
            value, cost = CelError(str(error)), PER_CALL_LIMIT
        except CelCompileError as error:
            value, cost = CelError(error.text), 0
        budget -= cost
        if budget < 0:
            return Held(error=_OUT_OF_BUDGET)
        if isinstance(value, CelError):
            if unconverted and unconverted in value.message:
                unknown = unknown or f"matchCondition {name!r} {unconverted}"
            else:
                errors.append(f"expression '{text}' resulted in error: {value.message}")
        elif value is not True:
            false = false or name
    if false:
        return Held(false=false)
    if unknown:
        return Held(unknown=unknown)
    return Held(error=errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else "")


def _variables(subject: Subject) -> dict[str, JSON]:
    request = subject.conditions_request
    return {
        "object": subject.object,
        "oldObject": subject.old_object,
        "request": request,
        "namespaceObject": None,
        **authz.variables(subject.authorizer, request),
    }

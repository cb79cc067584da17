"""Evaluate the matchConditions of a webhook for one request, as the API server does."""

from collections.abc import Sequence
from typing import NamedTuple

from policyd._core.lib import authz
from policyd._core.lib.authorization import Attributes
from policyd._core.plan.plan import Subject
from policyd._core.values.errors import CelError
from policyd.errors import CelCompileError, CostExceeded, Unanswered
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.typed_variables import typed_variables
from policyd.versions import KubernetesVersion
from policyd.webhooks.validation.conditions import compiled, trimmed

# k8s.io/apiserver pkg/apis/cel/config.go
PER_CALL_LIMIT = 1_000_000
CONDITIONS_BUDGET = 2_500_000
_OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


class UnknownPermissions:
    """An authorizer for requests whose user's permissions are not known."""

    def check(self, attributes: Attributes) -> None:
        """Answer that it is not known."""


class Held(NamedTuple):
    """The result: no field is set if every condition is true.

    ``false``: the name of the first that is false. ``error``: why they cannot be evaluated.
    ``unknown``: what has to be known first.
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
    """Evaluate every condition: one that is false decides, even if others are errors, but not if
    all of them together cost too much.

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

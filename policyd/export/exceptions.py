"""``exceptions`` of a Policy as CEL: matchConditions, and alternatives of the validations that they
lift. ``policyd.policy.compile.exemptions`` defines when an exception applies.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from policyd._core.match.labels import key_errors
from policyd.export.expressions.literals import string_literal
from policyd.export.expressions.rewriting import free_name
from policyd.export.expressions.selectors import joined, selector_expression, wildcard_expression
from policyd.export.model import Reason
from policyd.json_types import JSONObject
from policyd.policy.compile.exemptions import end_of
from policyd.policy.kinds.generated_names import MOST_PREFIX, UNKNOWN
from policyd.policy.model.exceptions import Exception_

_OBJECT = "(object != null ? object : oldObject)"
# The labels of the object that a policy evaluates: the old one if there is no new one.
LABELS = f"{_OBJECT}.?metadata.?labels"
# As policyd.policy.kinds.generated_names.unfinished: MutatingAdmissionPolicies see some objects
# before the API server makes their names.
_KEPT = f"'^([[:ascii:]]{{{MOST_PREFIX}}}|[[:ascii:]]{{1,{MOST_PREFIX - 1}}}$)'"
_UNFINISHED = (
    f"{_OBJECT}.?metadata.?generateName"
    f".optMap(g, g.matches({_KEPT}) ? g.find({_KEPT}) + '{UNKNOWN}' : '').orValue('')"
)
# ``request`` has no name while the object has none, and none in a deletecollection.
_NAME = f"request.?name.orValue({_OBJECT}.?metadata.?name.orValue({_UNFINISHED}))"


@dataclass(frozen=True, slots=True)
class ExportedExceptions:
    """The exceptions that have not expired.

    ``whole`` are those from the whole policy: (name, CEL that is true if it applies). ``lifting``
    is CEL by the name of a validation: true if an exception from it applies. None of them ever
    errs.
    """

    whole: tuple[tuple[str, str], ...] = ()
    lifting: tuple[tuple[str, str], ...] = ()
    reasons: tuple[Reason, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.whole or self.lifting)

    def conditions(self, taken: Iterable[str]) -> list[JSONObject]:
        """Return a matchCondition for each exception from the whole policy: true if it does not
        apply. Names differ from those ``taken``.
        """
        names = set(taken)
        found: list[JSONObject] = []
        for number, (name, applies) in enumerate(self.whole):
            wanted = f"exception-{name}"
            if key_errors(wanted):
                wanted = f"exception-{number}"
            wanted = free_name(wanted, names)
            names.add(wanted)
            found.append({"name": wanted, "expression": f"!({applies})"})
        return found

    def lifted(self, validation: str, expression: str) -> str:
        """Return the expression of the validation of that name, true if an exception lifts it,
        even where it errs.
        """
        terms = [applies for name, applies in self.lifting if name == validation]
        if not validation or not terms:
            return expression
        # A comment at the end of the expression must not hide the parenthesis after it.
        return joined("||", (*terms, f"{expression}\n" if "//" in expression else expression))


def exported_exceptions(
    exceptions: Iterable[Exception_], now: datetime, labels: str = LABELS
) -> ExportedExceptions:
    """Return the exceptions as CEL. ``labels`` is the CEL of the optional map of labels of the
    object that the policy evaluates; it must not err.
    """
    whole: list[tuple[str, str]] = []
    lifting: list[tuple[str, str]] = []
    reasons: list[Reason] = []
    for index, each in enumerate(exceptions):
        if each.until is not None:
            if now >= end_of(each.until):
                continue
            text = f"the exception {each.name} ends on {each.until}, and CEL has no clock"
            reasons.append(Reason(f"spec.exceptions[{index}].until", text))
        applies = _applies(each, labels)
        if each.validations:
            lifting += [(name, applies) for name in dict.fromkeys(each.validations)]
        else:
            whole.append((each.name, applies))
    return ExportedExceptions(tuple(whole), tuple(lifting), tuple(reasons))


def _applies(exception: Exception_, labels: str) -> str:
    """Return whether an exception applies, as CEL: all criteria that are set hold."""
    terms: list[str] = []
    if exception.operations and "*" not in exception.operations:
        names = ", ".join(map(string_literal, exception.operations))
        terms.append(f"request.operation in [{names}]")
    for patterns, value in (
        (exception.namespaces, "request.?namespace.orValue('')"),
        (exception.users, "request.?userInfo.?username.orValue('')"),
    ):
        if patterns:
            terms.append(wildcard_expression(patterns, value))
    if exception.names:
        terms.append(f"[{_NAME}].exists(n, {wildcard_expression(exception.names, 'n')})")
    if exception.groups:
        test = wildcard_expression(exception.groups, "g")
        terms.append(f"request.?userInfo.?groups.orValue([]).exists(g, {test})")
    if exception.object_selector is not None:
        terms.append(selector_expression(exception.object_selector, labels))
    return joined("&&", terms) or "true"

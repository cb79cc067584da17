"""Hints that need the policy around an expression: its variables and where it stands."""

from collections.abc import Sequence
from dataclasses import replace

from policyd.errors import Problem
from policyd.policy.model.expressions import (
    CONDITION,
    MESSAGE,
    TEMPLATE,
    VARIABLE,
    PolicyExpression,
)

_SYNTAX = "Syntax error: "
_COMPARE = "write == to compare"
_OF_ITEMS = "for items of a list"
_UNKNOWN_VARIABLES = "undeclared reference to 'variables'"
_TEXT_OR_NULL = "write '' in place of null"
_NO_AUTHORIZER = "undeclared reference to 'authorizer'"


# The field to write in place of an assignment, by the role of the expression.
_ASSIGNED = {
    "ApplyConfiguration": "Object{spec: Object.spec{FIELD: VALUE}}",
    "JSONPatch": "[JSONPatch{op: 'add', path: '/spec/FIELD', value: VALUE}]",
}
_LIST_OF_ITEMS = (
    "an overlay has no variable for items: write the list, "
    "\"${object.spec.containers.map(c, {'name': c.name, 'image': dyn(…)})}\""
)


def in_policy(
    problem: Problem, each: PolicyExpression, variables: Sequence[str], cut: str = ""
) -> Problem:
    """Return the problem of an expression with the hint that its place in the policy gives.

    ``variables`` are all variables of the policy, visible or not; ``cut`` is the remedy if YAML
    ends the string too early.
    """
    hint = cut if problem.message.startswith(_SYNTAX) else ""
    if problem.hint.startswith(_COMPARE) and each.role.name in _ASSIGNED:
        hint = f"an expression assigns nothing: write {_ASSIGNED[each.role.name]}"
    elif problem.message.startswith(_SYNTAX) and each.role is MESSAGE and _is_text(each.text):
        hint = f"write '{each.text.strip()}', in quotes, or move it to message"
        return replace(problem, summary="this is a text, not an expression", hint=hint, fix=None)
    elif each.role is TEMPLATE and _OF_ITEMS in problem.hint:
        hint = _LIST_OF_ITEMS
    name = problem.message.removeprefix("undefined field '").rstrip("'")
    if problem.message.startswith(_UNKNOWN_VARIABLES):
        if each.role is CONDITION:
            hint = "matchConditions cannot use variables: write the expression itself"
        elif each.role is VARIABLE:
            hint = "a variable can use only those before it in the list, and this is the first"
    elif each.role is MESSAGE and _TEXT_OR_NULL in problem.hint:
        hint = f"{_TEXT_OR_NULL}: an empty text counts as none"
    elif problem.message.startswith(_NO_AUTHORIZER) and each.role is MESSAGE:
        hint = "a messageExpression cannot use the authorizer"
    elif each.role is VARIABLE and problem.message == f"undefined field '{name}'":
        if name == each.name:
            hint = f"variables.{name} is this variable: it cannot use itself"
        elif name in variables:
            hint = f"variables.{name} is declared later: move it before {each.name} in the list"
    return replace(problem, hint=hint) if hint else problem


def _is_text(text: str) -> bool:
    """Whether an expression is words only, as of a sentence."""
    words = text.split()
    return len(words) > 2 and len(text) <= 80 and all(word.isalpha() for word in words)

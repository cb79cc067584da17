"""Preconditions that use variables, which matchConditions cannot: they become part of validations."""

from policyd.importers.kyverno.negation import bracketed, negation
from policyd.importers.kyverno.rule import RuleParts
from policyd.importers.model import Refused
from policyd.json_types import JSONObject


def moved(condition: str, parts: RuleParts, path: str) -> RuleParts:
    """Return validations that hold where the condition does not.

    Raises Refused for patterns and mutations, which have no condition of their own.
    """
    if "mutations" in parts.spec:
        raise Refused(path, "uses variables, which conditions of a mutating policy do not see")
    spec = {
        **parts.spec,
        "validations": [_moved(condition, each, path) for each in parts.spec["validations"]],
    }
    return RuleParts(spec, parts.remarks, parts.comments)


def _moved(condition: str, validation: JSONObject, path: str) -> JSONObject:
    if "expression" not in validation:
        raise Refused(path, "uses variables, which a pattern cannot depend on")
    rest = validation["expression"]
    held = negation(condition) if rest == "false" else f"{negation(condition)} || {bracketed(rest)}"
    return {**validation, "expression": held}

"""Checks of the validations that only a Policy has: one of three forms, and valid patterns."""

from collections.abc import Callable, Iterator
from typing import Any

from policyd.json_types import FieldPath
from policyd.pattern import Pattern, PatternError, compile_any_pattern, compile_pattern
from policyd.policy.checks.match import required
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import PolicyValidation


def check_forms(validation: PolicyValidation, at: FieldPath) -> Iterator[FormProblem]:
    """Check that exactly one of ``expression``, ``pattern`` and ``anyPattern`` is set and valid."""
    given = [
        name
        for name, value in (
            ("expression", validation.expression.strip() or None),
            ("pattern", validation.pattern),
            ("anyPattern", validation.any_pattern),
        )
        if value is not None
    ]
    if not given:
        yield required(at, "expression, pattern or anyPattern")
    for name in given[1:]:
        wrong = f"Forbidden: {given[0]} and {name} are mutually exclusive"
        yield FormProblem((*at, name), wrong, "use two validations", at_key=True)
    if validation.pattern is not None:
        yield from _faults(compile_pattern, validation.pattern, (*at, "pattern"))
    if validation.any_pattern is not None:
        path = (*at, "anyPattern")
        if not validation.any_pattern:
            yield required(path, "an empty list of patterns never matches")
        yield from _faults(compile_any_pattern, list(validation.any_pattern), path)


def _faults(make: Callable[[Any], Pattern], tree: Any, path: FieldPath) -> Iterator[FormProblem]:
    try:
        make(tree)
    except PatternError as error:
        for fault in error.faults:
            yield FormProblem(
                (*path, *fault.path), fault.message, fault.hint, fault.at_key, rule="pattern"
            )

"""Runs the functions of the table of lint rules over sources whose form is valid."""

from collections.abc import Callable, Iterable
from importlib import import_module

from policyd.cel.syntax.recursion import deep_recursion
from policyd.errors import Problem
from policyd.policy.lint.lint_rules import RULES, LintRule
from policyd.policy.lint.run import LintRun

_Finder = Callable[[LintRun], Iterable[Problem]]


def all_advice(run: LintRun, rules: Iterable[LintRule] = tuple(RULES.values())) -> list[Problem]:
    """Return what the functions of lint rules find, disabled or not."""
    names = dict.fromkeys(name for rule in rules for name in rule.found_by)
    with deep_recursion():
        return [problem for name in names for problem in finder(name)(run)]


def finder(name: str) -> _Finder:
    """Return the function that a row of the table names."""
    module, _, function = name.rpartition(".")
    found: _Finder = getattr(import_module(f"{__package__}.{module}"), function)
    return found

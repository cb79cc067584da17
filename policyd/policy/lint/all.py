"""Everything that lint says about sources whose form is right: the functions of the table, run."""

from collections.abc import Callable, Iterable
from importlib import import_module

from policyd.errors import Problem
from policyd.policy.lint.rules import RULES
from policyd.policy.lint.run import LintRun

_Finder = Callable[[LintRun], Iterable[Problem]]


def all_advice(run: LintRun) -> list[Problem]:
    """What every rule finds, disabled or not."""
    names = dict.fromkeys(name for rule in RULES.values() for name in rule.found_by)
    return [problem for name in names for problem in finder(name)(run)]


def finder(name: str) -> _Finder:
    """The function that a row of the table names."""
    module, _, function = name.rpartition(".")
    found: _Finder = getattr(import_module(f"{__package__}.{module}"), function)
    return found

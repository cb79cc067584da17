"""Expressions that use ``variables.NAME``, as those of policies do. No tests here."""

from collections.abc import Mapping

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import Program
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from policyd.cel.types.structs import variable_type
from policyd.cel.types.types import Type


def with_variables(environment: Environment, declared: Mapping[str, Type | Program]) -> Environment:
    """Declare ``variables.NAME`` for each name; with none, ``variables`` has no field."""
    return environment.declaring(
        {
            name: variable_type(each if isinstance(each, Type) else each.result_type)
            for name, each in declared.items()
        }
    )


def composed(environment: Environment, text: str, programs: Mapping[str, Program]) -> Program:
    """Compile an expression that calls these programs, which have one layout."""
    layout = next(iter(programs.values())).layout
    assert isinstance(layout, Layout)
    for name, program in programs.items():
        layout.define(name, program)
    return plan(with_variables(environment, programs).check(text), layout)

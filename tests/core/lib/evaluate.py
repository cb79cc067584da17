"""One expression through the whole of CEL, and its result in the form in which the oracle prints it."""

import math
from dataclasses import dataclass
from typing import Any

from policyd._core.eval.program import render
from policyd._core.values.errors import CelError
from policyd._core.values.types import Optional, UInt
from policyd.cel.env import Environment
from policyd.cel.types.types import DYN
from policyd.errors import CelCompileError
from policyd.versions import KubernetesVersion
from tests import authorizers

KUBERNETES = Environment.kubernetes()
# The rows of this folder were recorded from this version.
RECORDED = Environment.kubernetes(KubernetesVersion(1, 36))


@dataclass(frozen=True, slots=True)
class Outcome:
    """``error`` is None for a value; ``cost`` is None for an expression that was refused."""

    value: Any
    error: str | None
    cost: int | None


def outcome(expression: str, variables: dict[str, Any], base: Environment = RECORDED) -> Outcome:
    """Every variable that the environment does not type is declared dyn, as the oracle does it."""
    new = [name for name in variables if name not in base.variables]
    environment = base.extend(dict.fromkeys(new, DYN))
    try:
        program = environment.compile(expression)
    except CelCompileError as refused:
        prefixes = ("compilation failed: ", "program instantiation failed: ")
        text = refused.text
        for prefix in prefixes:
            text = text.removeprefix(prefix)
        return Outcome(None, text, None)
    value, cost = program.evaluate_with_cost(variables)
    if isinstance(value, CelError):
        return Outcome(None, value.message, cost)
    return Outcome(as_json(value), None, cost)


def evaluate(expression: str, **variables: Any) -> Any:
    """The value itself; a CelError is returned, not raised. ``authorizer`` is that of
    tests/authorizers.py.
    """
    program = KUBERNETES.extend(dict.fromkeys(variables, DYN)).compile(expression)
    return program.evaluate_with_cost({**authorizers.variables(), **variables})[0]


def as_json(value: Any) -> Any:
    """What JSON lacks as tests/oracle/README.md says."""
    if isinstance(value, UInt):
        return value.value
    if isinstance(value, Optional):
        return {"optional": as_json(value.value)} if value else "optional.none()"
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {render(getattr(key, "value", key)): as_json(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return value.decode()
    return render(value)

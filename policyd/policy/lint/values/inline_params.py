"""Advice on fields of ``params`` that the inline params of a Policy do not have."""

from collections.abc import Iterator
from typing import Any

from policyd.cel.hints.tree import listed, near
from policyd.cel.syntax.ast import Call, Comprehension, Expr, Ident, Literal, Select
from policyd.cel.syntax.recursion import nodes
from policyd.cel.syntax.unparse import unparse
from policyd.errors import Problem
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.values.comparisons import problem_at
from policyd.policy.model.kinds import Policy

RULE = "type-check"
_NAME = "params"
_CONSTANTS = "write the values below params, such as {}: 5: they are constants, not a schema"


def missing_params(run: LintRun) -> Iterator[Problem]:
    """Yield the advice for all policies, in file order. Fields that ``has()`` tests may be
    missing.
    """
    for document, expression, checked in run.expressions:
        params = document.model.spec.params if isinstance(document.model, Policy) else None
        if params is None or any(map(_is_shadowed, nodes(checked.expr))):
            continue
        reads = [each for each in nodes(checked.expr) if _read(each)]
        tested = {unparse(each) for each in reads if isinstance(each, Select) and each.test_only}
        for node in reads:
            whole, field = _read(node) or (node, "")
            value = _value(whole, params)
            if isinstance(value, dict) and field not in value and not _is_tested(node, tested):
                text = unparse(whole)
                close = near(field, map(str, value))
                hint = f"did you mean {text}.{close}?" if close else f"it has {listed(value)}"
                if isinstance(value.get("properties"), dict):
                    hint = _CONSTANTS.format(field)
                message = f"{text} has no field '{field}'"
                yield problem_at(
                    document, expression, node.pos, message, rule=RULE, severity="advice", hint=hint
                )


def _is_shadowed(node: Expr) -> bool:
    return isinstance(node, Comprehension) and _NAME in (node.iter_var, node.iter_var2)


def _read(node: Expr) -> tuple[Expr, str] | None:
    """Return what a node reads a field of, and the field."""
    if isinstance(node, Select):
        return node.operand, node.field
    if isinstance(node, Call) and node.function == "_[_]":
        whole, key = node.args
        if isinstance(key, Literal) and isinstance(key.value, str):
            return whole, key.value
    return None


def _is_tested(node: Expr, tested: set[str]) -> bool:
    return isinstance(node, Select) and (node.test_only or f"has({unparse(node)})" in tested)


def _value(node: Expr, params: dict[str, Any]) -> Any:
    """Return the value of ``params.a.b``; None if it is not of the params, or not there."""
    fields: list[str] = []
    while read := _read(node):
        node, field = read
        fields.append(field)
    if not isinstance(node, Ident) or node.name != _NAME:
        return None
    value: Any = params
    for field in reversed(fields):
        value = value.get(field) if isinstance(value, dict) else None
    return value

"""Advice on fields of ``params`` that the inline params of a Policy do not have."""

from collections.abc import Iterator
from typing import Any

from policyd.cel.hints.tree import listed, near
from policyd.cel.syntax.ast import Call, Comprehension, Expr, Ident, Literal, Select
from policyd.cel.syntax.recursion import nodes
from policyd.cel.syntax.unparse import unparse
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.findings import FormProblem

RULE = "type-check"
_NAME = "params"
_CONSTANTS = "write the values below params, such as {}: 5: they are constants, not a schema"


def missing_params(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for a policy. Fields that ``has()`` tests may be missing."""
    params = policy.own.params if policy.own else None
    for expression, checked in policy.compiled:
        every = list(nodes(checked.expr))
        loops = [each for each in every if isinstance(each, Comprehension)]
        if params is None or any(_NAME in (each.iter_var, each.iter_var2) for each in loops):
            continue
        reads = [(node, *read) for node in every if (read := _read(node))]
        tested = {unparse(each) for each in every if isinstance(each, Select) and each.test_only}
        for node, whole, field in reads:
            value = _value(whole, params)
            if not isinstance(value, dict) or field in value:
                continue
            text = unparse(whole)
            if isinstance(node, Select) and (node.test_only or f"has({unparse(node)})" in tested):
                continue
            close = near(field, map(str, value))
            hint = f"did you mean {text}.{close}?" if close else f"it has {listed(value)}"
            if isinstance(value.get("properties"), dict):
                hint = _CONSTANTS.format(field)
            yield expression.finding(node.pos, RULE, f"{text} has no field '{field}'", hint)


def _read(node: Expr) -> tuple[Expr, str] | None:
    """Return what a node reads a field of, and the field."""
    if isinstance(node, Select):
        return node.operand, node.field
    if isinstance(node, Call) and node.function == "_[_]":
        whole, key = node.args
        if isinstance(key, Literal) and isinstance(key.value, str):
            return whole, key.value
    return None


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

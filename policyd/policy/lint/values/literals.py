"""Errors of literals that never parse: ``quantity('1Gb')``, ``ip('10.0.0')``, ``semver('1.2')``;
and of indexes that no list has: ``list[-1]``.

The run-time library parses them, so lint and evaluation always agree. Numbers, durations,
timestamps and regular expressions are checked when the expression is compiled.
"""

import re
from collections.abc import Iterator

from policyd._core.eval.layout import Layout
from policyd._core.values.errors import CelError
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from policyd.cel.syntax.ast import Call, Checked, Expr, Literal
from policyd.cel.syntax.recursion import nodes
from policyd.cel.syntax.unparse import unparse
from policyd.cel.types.types import Kind
from policyd.errors import BudgetExceeded, CelCompileError
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.findings import FormProblem
from policyd.versions import KubernetesVersion

RULE = "invalid-literal"
# Functions of one string, and the function that parses the string as they do.
_PARSERS = {
    **{name: name for name in ("cidr", "ip", "quantity", "semver", "url")},
    "containsCIDR": "cidr",
    "containsIP": "ip",
}
_HINTS = {
    "cidr": "write an address and the length of its prefix: cidr('10.0.0.0/8')",
    "ip": "write one address in full, without a prefix or port: ip('10.0.0.1')",
    "quantity": "units are m, k, M, G, T, P, E (of 1000) and Ki, Mi, Gi, Ti, Pi, Ei (of 1024)",
    "semver": "write three numbers: semver('1.2.0'); semver('v1.2', true) accepts shorter forms",
    "url": "write an absolute URL or path: url('https://example.com/')",
}
_BYTES = re.compile(r"([0-9.]+) ?([kKMGTPE])i?[bB]")


def invalid_literals(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the errors of all expressions, in order."""
    for expression, checked in policy.compiled:
        for call, literal in _literals(checked.expr):
            why = _failure(call, literal, policy.run.sources.version)
            if why:
                message = f"{call.function}({unparse(literal)}) is always an error: {why}"
                hint = _hint(_PARSERS[call.function], literal.value)
                yield expression.finding(literal.pos, RULE, message, hint)
        for whole, index, pos in _negative_indexes(checked):
            message = f"the index {index} is always an error: indexes count from 0"
            text = unparse(whole)
            hint = f"write {text}[size({text}) - {-index}]"
            yield expression.finding(pos, RULE, message, hint)


def _negative_indexes(checked: Checked) -> Iterator[tuple[Expr, int, int]]:
    """Yield what is indexed, with a negative index and its offset."""
    for node in nodes(checked.expr):
        if not isinstance(node, Call) or node.function != "_[_]":
            continue
        whole, index = node.args
        value = index.value if isinstance(index, Literal) else None
        if type(value) is int and value < 0 and checked.types[whole.id].kind is not Kind.MAP:
            yield whole, value, index.pos


def _literals(root: Expr) -> Iterator[tuple[Call, Literal]]:
    for node in nodes(root):
        if not isinstance(node, Call) or node.function not in _PARSERS or not node.args:
            continue
        argument = node.args[0]
        alone = node.target is None and node.function == _PARSERS[node.function]
        member = node.target is not None and node.function != _PARSERS[node.function]
        if isinstance(argument, Literal) and isinstance(argument.value, str) and (alone or member):
            yield node, argument


def _failure(call: Call, literal: Literal, version: KubernetesVersion) -> str:
    """Return the error of parsing a literal; empty if there is none."""
    rest = call.args[1:] if call.target is None else ()
    if not all(isinstance(each, Literal) for each in rest):
        return ""
    arguments = ", ".join(map(unparse, (literal, *rest)))
    text = f"{_PARSERS[call.function]}({arguments})"
    try:
        checked = Environment.admission(version=version).check(text)
        value, _ = plan(checked, Layout()).evaluate_with_cost({})
    except (CelCompileError, BudgetExceeded):
        return ""  # reported where the expression is compiled
    return value.message if isinstance(value, CelError) else ""


def _hint(function: str, value: object) -> str:
    unit = _BYTES.fullmatch(str(value))
    if function == "quantity" and unit is not None:
        number, prefix = unit.groups()
        binary, decimal = f"{number}{prefix.upper()}i", f"{number}{prefix.replace('K', 'k')}"
        return f"write {binary} (units of 1024) or {decimal} (units of 1000)"
    return _HINTS.get(function, "")

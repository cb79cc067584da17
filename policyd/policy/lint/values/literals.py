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
from policyd.cel.syntax.ast import Call, Literal
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
        for node in nodes(checked.expr):
            match node:
                case Call(args=(Literal(value=str()) as literal, *_)) if _parses(node):
                    if why := _failure(node, literal, policy.run.sources.version):
                        message = f"{node.function}({unparse(literal)}) is always an error: {why}"
                        hint = _hint(_PARSERS[node.function], literal.value)
                        yield expression.finding(literal.pos, RULE, message, hint)
                case Call(function="_[_]", args=(whole, Literal(value=int() as index) as at)):
                    if index < 0 and checked.types[whole.id].kind is not Kind.MAP:
                        message = f"the index {index} is always an error: indexes count from 0"
                        text = unparse(whole)
                        hint = f"write {text}[size({text}) - {-index}]"
                        yield expression.finding(at.pos, RULE, message, hint)


def _parses(call: Call) -> bool:
    """Whether a call parses its argument: of a function alone, or of a method."""
    parser = _PARSERS.get(call.function)
    return parser is not None and (call.target is None) is (parser == call.function)


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

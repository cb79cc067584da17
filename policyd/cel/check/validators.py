"""Find invalid literals that Kubernetes refuses after type checking.

Literal durations, timestamps and regular expressions must be valid; lists and maps must not mix
types, except inside of ``format`` calls, which are checked if format string and arguments are
literals (cel-go cel/validator.go, ext/formatting.go). Conversions are checked by the run-time
library through a ``Probe``, so that both always agree.
"""

from collections.abc import Callable

from policyd.cel.check.formats import FormatProblem, check_format
from policyd.cel.syntax.ast import (
    Call,
    Checked,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
)
from policyd.cel.syntax.recursion import children
from policyd.cel.syntax.source import Issue
from policyd.cel.types.types import Type, is_optional, is_same, unwrapped

# Return whether a function fails on literal arguments.
Probe = Callable[[str, tuple[object, ...]], bool]

_LITERAL_ARGUMENTS = ("duration", "timestamp", "matches")
_CHECKED = frozenset((*_LITERAL_ARGUMENTS, "format"))


def validate(checked: Checked, fails: Probe) -> list[Issue]:
    """Return all problems of an expression without type errors."""
    issues: list[Issue] = []
    nodes = _suspects(checked.expr)
    if not nodes:
        return issues
    calls = [node for node, _ in nodes if isinstance(node, Call)]
    for name in _LITERAL_ARGUMENTS if calls else ():
        for call in calls:
            issues += _literal_argument(call, name, fails)
    mixed = [node for node, exempt in nodes if not exempt]
    for node in mixed:
        if isinstance(node, ListExpr):
            issues += _mixed_list(node, checked)
    for node in mixed:
        if isinstance(node, MapExpr):
            issues += _mixed_map(node, checked)
    for call in calls:
        if call.function == "format":
            issues += _format(call, checked)
    return issues


def _suspects(root: Expr) -> list[tuple[Expr, bool]]:
    """Return the nodes that may be invalid, parts before wholes, and whether each is inside a
    ``format`` call.
    """
    found: list[tuple[Expr, bool]] = []
    stack = [root]
    formats = -1  # the size of the stack below the parts of the outermost ``format`` call
    while stack:
        node = stack.pop()
        if len(stack) < formats:
            formats = -1
        if isinstance(node, Select):
            stack.append(node.operand)
            continue
        if isinstance(node, Ident | Literal):
            continue
        if isinstance(node, Call):
            if node.function in _CHECKED:
                found.append((node, formats >= 0))
            if node.function == "format" and formats < 0:
                formats = len(stack)
        elif isinstance(node, ListExpr | MapExpr):
            found.append((node, formats >= 0))
        stack.extend(children(node))
    found.reverse()
    return found


def _literal_argument(node: Call, name: str, fails: Probe) -> list[Issue]:
    """Check the first argument of the function of that name, not counting a member's receiver.

    So in the global ``matches(text, pattern)`` the text must be a valid pattern, as in cel-go.
    """
    if node.function != name or not node.args:
        return []
    argument = node.args[0]
    if not isinstance(argument, Literal):
        return []
    values = ("", argument.value) if name == "matches" else (argument.value,)
    return [Issue(argument.pos, f"invalid {name} argument")] if fails(name, values) else []


def _mismatch(node: Expr, expected: Type, found: Type) -> Issue:
    return Issue(node.pos, f"expected type '{expected.display()}' but found '{found.display()}'")


def _value_type(node: Expr, checked: Checked, optional: bool) -> Type:
    found: Type = checked.types[node.id]
    return found.params[0] if optional and is_optional(found) else found


def _mixed_list(node: ListExpr, checked: Checked) -> list[Issue]:
    expected: Type | None = None
    for index, element in enumerate(node.elements):
        found = _value_type(element, checked, index in node.optional)
        if expected is None:
            expected = found
        elif not is_same(unwrapped(found), unwrapped(expected)):
            return [_mismatch(element, expected, found)]
    return []


def _mixed_map(node: MapExpr, checked: Checked) -> list[Issue]:
    issues: list[Issue] = []
    expected: tuple[Type, Type] | None = None
    for entry in node.entries:
        key = checked.types[entry.key.id]
        value = _value_type(entry.value, checked, entry.optional)
        if expected is None:
            expected = key, value
            continue
        if not is_same(unwrapped(key), unwrapped(expected[0])):
            issues.append(_mismatch(entry.key, expected[0], key))
        if not is_same(unwrapped(value), unwrapped(expected[1])):
            issues.append(_mismatch(entry.value, expected[1], value))
    return issues


def _format(node: Call, checked: Checked) -> list[Issue]:
    match node:
        case Call(function="format", target=Literal(value=str(text)), args=(ListExpr() as args,)):
            try:
                used = check_format(text, args.elements, checked.types)
            except FormatProblem as problem:
                place = problem.node or node
                return [Issue(place.pos, str(problem))]
            given = len(args.elements)
            if given > used:
                counts = f"(expected {used}, got {given})"
                wrong = f"too many arguments supplied to string.format {counts}"
                return [Issue(node.pos, wrong)]
    return []

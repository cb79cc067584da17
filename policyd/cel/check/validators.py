"""Find invalid literals that Kubernetes refuses after type checking.

Literal durations, timestamps and regular expressions must be valid; lists and maps must not mix
types, except inside ``format`` calls, which are checked if the format string and the arguments are
literals (cel-go cel/validator.go, ext/formatting.go). The run-time library checks conversions,
through a ``Probe``, and the syntax of format strings, so that both always agree.
"""

from collections.abc import Callable, Sequence

from policyd._core.lib.string_format import clause_at
from policyd.cel.syntax.ast import Call, Checked, Expr, Ident, ListExpr, Literal, MapExpr, Select
from policyd.cel.syntax.recursion import children
from policyd.cel.syntax.source import Issue
from policyd.cel.types.types import Kind, Type, is_optional, is_same, unwrapped

# Returns whether a function fails on literal arguments.
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


_STRING_KINDS = (Kind.LIST, Kind.MAP, Kind.TYPE, Kind.NULL, Kind.WELL_KNOWN, Kind.PRIMITIVE)
_STRING_PROBLEM = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
    "durations, and timestamps"
)
# Clause letter -> the types it accepts and the message for others.
_CLAUSES = {
    "d": (("int", "uint"), "decimal clause can only be used on integers"),
    "f": (("double", "string"), "fixed-point clause can only be used on doubles"),
    "e": (("double", "string"), "scientific clause can only be used on doubles"),
    "b": (("int", "uint", "bool"), "only integers and bools can be formatted as binary"),
    "x": (
        ("int", "uint", "string", "bytes"),
        "only integers, byte buffers, and strings can be formatted as hex",
    ),
    "o": (("int", "uint"), "octal clause can only be used on integers"),
}


class FormatProblem(Exception):
    """A format string that does not fit its arguments; ``node`` is the bad argument, if any."""

    def __init__(self, message: str, node: Expr | None = None) -> None:
        super().__init__(message)
        self.node = node


def check_format(text: str, args: Sequence[Expr], types: dict[int, Type]) -> int:
    """Return how many arguments the format string uses; raises FormatProblem."""
    used = 0
    place = text.find("%")
    while place >= 0:
        if text.startswith("%%", place):
            place = text.find("%", place + 2)
            continue
        if place + 1 >= len(text):
            raise FormatProblem("unexpected end of string")
        if used >= len(args):
            raise FormatProblem(f"index {used} out of range")
        try:
            letter, end = clause_at(text, place)
        except ValueError as error:
            raise FormatProblem(str(error)) from None
        _check_clause(letter, args[used], types)
        used += 1
        place = text.find("%", end)
    return used


def _check_clause(letter: str, arg: Expr, types: dict[int, Type]) -> None:
    if letter == "s":
        _check_string(arg, types)
        return
    names, problem = _CLAUSES[letter.lower()]
    found = unwrapped(types[arg.id])
    if found.kind is not Kind.DYN and found.name not in names:
        raise FormatProblem(f"error during formatting: {problem}, was given {found.name}", arg)


def _check_string(arg: Expr, types: dict[int, Type]) -> None:
    """Check an argument of ``%s``, which accepts nearly everything; check inside literals."""
    found = unwrapped(types[arg.id])
    if found.kind is not Kind.DYN and found.kind not in _STRING_KINDS:
        raise FormatProblem(
            f"error during formatting: {_STRING_PROBLEM}, was given {found.name}", arg
        )
    if isinstance(arg, ListExpr | MapExpr):
        for each in children(arg):
            _check_string(each, types)

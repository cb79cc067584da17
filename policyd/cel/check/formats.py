"""Check a literal format string of ``string.format`` against literal arguments, before
evaluation.

Clauses and messages: cel-go ext/formatting.go. It reads the string as bytes, so a clause letter
beyond ASCII is named by its first byte.
"""

from collections.abc import Sequence

from policyd.cel.syntax.ast import Expr, ListExpr, MapExpr
from policyd.cel.types.types import Kind, Type, unwrapped

_MAX_INT = 2**63 - 1
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
    octets = text.encode("utf-8", "surrogatepass").decode("latin-1")
    used = 0
    place = octets.find("%")
    while place >= 0:
        place += 1
        if octets.startswith("%", place):
            place = octets.find("%", place + 1)
            continue
        if place >= len(octets):
            raise FormatProblem("unexpected end of string")
        if used >= len(args):
            raise FormatProblem(f"index {used} out of range")
        place = _skip_precision(octets, place)
        _check_clause(octets[place], args[used], types)
        used += 1
        place = octets.find("%", place + 1)
    return used


def _skip_precision(text: str, place: int) -> int:
    """Return the offset of the clause letter."""
    if text[place] != ".":
        return place
    end = place + 1
    while end < len(text) and text[end] in "0123456789":
        end += 1
    prefix = "could not parse formatting clause: error while parsing precision: "
    if end >= len(text):
        raise FormatProblem(prefix + "could not find end of precision specifier")
    digits = text[place + 1 : end]
    prefix += f'error while converting precision to integer: strconv.Atoi: parsing "{digits}": '
    if not digits:
        raise FormatProblem(prefix + "invalid syntax")
    if len(digits.lstrip("0")) > len(str(_MAX_INT)) or int(digits) > _MAX_INT:
        raise FormatProblem(prefix + "value out of range")
    return end


def _check_clause(letter: str, arg: Expr, types: dict[int, Type]) -> None:
    if letter == "s":
        _check_string(arg, types)
        return
    clause = _CLAUSES.get("x" if letter == "X" else letter)
    if clause is None:
        raise FormatProblem(
            f'could not parse formatting clause: unrecognized formatting clause "{letter}"'
        )
    names, problem = clause
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
    inner: tuple[Expr, ...] = ()
    if isinstance(arg, ListExpr):
        inner = arg.elements
    elif isinstance(arg, MapExpr):
        inner = tuple(part for entry in arg.entries for part in (entry.key, entry.value))
    for each in inner:
        _check_string(each, types)

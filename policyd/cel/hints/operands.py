"""Type hints: operators with operands of types that they do not take."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from policyd.cel.hints.quantities import OF_QUANTITIES, ORDERED, QUANTITY
from policyd.cel.hints.tree import NUMBERS, converted, filled, held, shown
from policyd.cel.syntax.ast import Call, Ident
from policyd.cel.syntax.recursion import nodes
from policyd.cel.types.types import (
    BOOL,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    JSON_PATCH,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    is_optional,
)

_TYPES = frozenset(("bool", "bytes", "double", "int", "list", "map", "string", "uint"))
SEMVER = "kubernetes.Semver"
_AMOUNTS = ("memory", "cpu", "storage")  # fields with quantities
_COMPARISONS = frozenset((*ORDERED, "_==_", "_!=_"))
_ARITHMETIC = frozenset(("_+_", "_-_", "_*_", "_/_", "_%_"))
# The field of a struct that is meant where it is compared with a string.
_NAMED: Mapping[str, str] = {
    "kubernetes.GroupVersionKind": ".kind",
    "kubernetes.GroupVersionResource": ".resource",
    "kubernetes.UserInfo": ".username",
    "kubernetes.Namespace": ".metadata.name",
}


class OperatorUse(NamedTuple):
    """An operator with its two operands, as text, and their types."""

    call: Call
    texts: Sequence[str]
    types: Sequence[Type]

    @property
    def sign(self) -> str:
        return self.call.function.strip("_")

    def place(self, *of: Type) -> int | None:
        """Return which operand has one of these types, the first of both."""
        return next((number for number, t in enumerate(self.types) if t in of), None)

    def write(self, at: int, text: str, more: str = "") -> str:
        """Return the hint to write the operation with another operand."""
        parts = [text if number == at else each for number, each in enumerate(self.texts)]
        return f"write {parts[0]} {self.sign} {parts[1]}{more}"


def operator_hint(call: Call, texts: Sequence[str], types: Sequence[Type]) -> str:
    """Return the remedy for an operator; empty if none is known."""
    if call.function in _COMPARISONS | _ARITHMETIC and len(types) == 2:
        operation = OperatorUse(call, texts, types)
        return next(filter(None, (row(operation) for row in _ROWS)), "")
    return ""


def _optionals(o: OperatorUse) -> str:
    one = [number for number, t in enumerate(o.types) if is_optional(t)]
    return o.write(one[0], f"{held(o.texts[one[0]])}.orValue(…)") if len(one) == 1 else ""


def _quantities(o: OperatorUse) -> str:
    names = [t.name for t in o.types]
    if QUANTITY in names:
        kind, template = "quantity", OF_QUANTITIES.get(o.call.function)
    elif SEMVER in names:
        kind, template = "semver", ({**ORDERED, "_==_": "{0} == {1}"}).get(o.call.function)
    else:
        return ""
    if template is None:
        return ""
    left, right = (converted(kind, text, t) for text, t in zip(o.texts, o.types, strict=True))
    return f"write {filled(template, (left, right))}"


def _times(o: OperatorUse) -> str:
    time = o.place(TIMESTAMP)
    if time is not None and o.sign in ("+", "-"):
        return _moved(o, time, 1 - time)
    for kind, t in (("timestamp", TIMESTAMP), ("duration", DURATION)):
        at = o.place(t)
        if at is None:
            continue
        other = 1 - at
        if o.types[other] == STRING:
            return o.write(other, f"{kind}({o.texts[other]})")
        if o.types[other] in NUMBERS and t == DURATION and o.texts[other].isdigit():
            return o.write(other, f"duration('{o.texts[other]}s')")
        if o.types[other] in NUMBERS:
            return f"compare {kind}s, or the seconds of both: int({o.texts[at]})"
    return ""


def _moved(o: OperatorUse, time: int, other: int) -> str:
    """Return the remedy for a timestamp plus or minus something else."""
    text = o.texts[other]
    if o.types[other] == STRING:
        if text[:1] not in "\"'":
            return f"write timestamp({text}), or duration({text}) for a span such as '24h'"
        is_time = "T" in text or text.count("-") >= 2
        return o.write(other, f"{'timestamp' if is_time else 'duration'}({text})")
    if o.types[other] in NUMBERS:
        made_of = f"duration('{text}s')" if text.isdigit() else "duration('24h')"
        return o.write(other, made_of)
    return ""


def _chains(o: OperatorUse) -> str:
    """``1 < x < 5``."""
    inner = o.call.args[0]
    if BOOL not in o.types or o.call.function not in ORDERED:
        return ""
    if not isinstance(inner, Call) or inner.function not in ORDERED:
        return ""
    a, b = map(shown, inner.args)
    return f"write {a} {inner.function.strip('_')} {b} && {b} {o.sign} {o.texts[1]}"


def _strings(o: OperatorUse) -> str:
    """A string beside a value of another type."""
    at = o.place(STRING)
    if at is None:
        return ""
    other, plain = 1 - at, o.texts[at].strip("\"'")
    quoted = plain != o.texts[at]
    t, text = o.types[other], o.texts[other]
    if t.kind is Kind.TYPE and plain in _TYPES:
        return o.write(at, plain, ", without quotes")
    if o.sign == "-" and t in (STRING, DYN):
        return f"write {held(o.texts[0])}.replace({o.texts[1]}, '')"
    if o.sign == "%" and at == 0:
        return f"write {held(o.texts[0])}.format([{o.texts[1]}])"
    if o.sign == "+":
        return o.write(
            other, f"{held(text)}.join(', ')" if t.kind is Kind.LIST else f"string({text})"
        )
    if t == BOOL:
        if plain in ("true", "false"):
            return o.write(at, plain, ", without quotes")
        return o.write(other, f"string({text})")
    if t in NUMBERS:
        if quoted and plain.lstrip("-").isdigit():
            return o.write(at, plain, ", without quotes")
        if quoted and plain[:1].isdigit():
            return f"write quantity({o.texts[at]}) for a quantity, and compare with isLessThan()"
        if o.texts[at].rstrip("']").endswith(_AMOUNTS) and o.call.function in ORDERED:
            sides = [converted("quantity", *each) for each in zip(o.texts, o.types, strict=True)]
            return f"write {filled(ORDERED[o.call.function], sides)}"
        return o.write(at, f"{'double' if t == DOUBLE else 'int'}({o.texts[at]})")
    if t.kind is Kind.LIST and o.sign in ("==", "!="):
        inside = f"{o.texts[at]} in {text}"
        return f"write !({inside})" if o.sign == "!=" else f"write {inside}"
    return o.write(other, text + _NAMED[t.name]) if t.name in _NAMED else ""


def _numbers(o: OperatorUse) -> str:
    if not all(t in NUMBERS for t in o.types):
        return ""
    wanted = DOUBLE if DOUBLE in o.types else INT
    at = next((number for number, t in enumerate(o.types) if t != wanted), 0)
    if wanted == DOUBLE and o.texts[at].lstrip("-").isdigit():
        return o.write(at, f"{o.texts[at]}.0")
    return o.write(at, f"{wanted.name}({o.texts[at]})")


def _lists(o: OperatorUse) -> str:
    at = next((number for number, t in enumerate(o.types) if t.kind is Kind.LIST), None)
    if at is None:
        return ""
    if o.sign == "-":
        return _without(o)
    if all(t.kind is Kind.LIST for t in o.types):
        if JSON_PATCH in (t.params[0] for t in o.types):
            return (
                "write JSONPatch{op: 'add', path: '/spec/x', value: …} for each operation, no map"
            )
        sizes = [f"size({each})" for each in o.texts]
        sized = f"write {sizes[0]} {o.sign} {sizes[1]}" if o.call.function in ORDERED else ""
        return o.write(1, f"dyn({o.texts[1]})") if o.sign == "+" else sized
    if o.sign == "+":
        return o.write(1 - at, f"[{o.texts[1 - at]}]")
    counted = o.call.function in ORDERED or o.types[1 - at] in NUMBERS
    return o.write(at, f"size({o.texts[at]})") if counted else ""


def _without(o: OperatorUse) -> str:
    """Return what remains of a list, or of the keys of a map, without other items."""
    left, right = o.texts
    used = [each.name for each in nodes(o.call.args[1]) if isinstance(each, Ident)]
    name = next((each for each in "xyz" if each not in used), "each")
    many = o.types[1].kind in (Kind.LIST, Kind.MAP)
    condition = f"!({name} in {right})" if many else f"{name} != {right}"
    return f"write {held(left)}.filter({name}, {condition})"


def _others(o: OperatorUse) -> str:
    if any(t.kind is Kind.NULL for t in o.types):
        return "this is never null; to find out whether a field is there, write has(a.b)"
    if o.sign == "+" and any(t.kind is Kind.MAP for t in o.types):
        return "CEL does not add maps; an Object{…} names only what changes"
    if o.sign == "-" and any(t.kind is Kind.MAP for t in o.types):
        return f"{_without(o)} for the keys that remain"
    if o.sign in ("==", "!="):
        left, right = (t.display() for t in o.types)
        return f"the two sides have the types {left} and {right}: convert one"
    return ""


_ROWS: tuple[Callable[[OperatorUse], str], ...] = (
    _optionals,
    _quantities,
    _times,
    _chains,
    _strings,
    _numbers,
    _lists,
    _others,
)

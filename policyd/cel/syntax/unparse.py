"""Print a syntax tree as CEL, to show parts of an expression to users. Macros are printed as
called; original spaces, quotes and needless parentheses are lost.
"""

import json
import re
from collections.abc import Callable, Mapping

from policyd._core.values.types import UInt
from policyd.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)

_CONDITIONAL, _OR, _AND, _RELATION, _SUM, _PRODUCT, _UNARY, _PRIMARY = range(1, 9)
# Binding strength and spelling of operators.
_BINARY: Mapping[str, tuple[int, str]] = {
    "_||_": (_OR, "||"),
    "_&&_": (_AND, "&&"),
    "_==_": (_RELATION, "=="),
    "_!=_": (_RELATION, "!="),
    "_<_": (_RELATION, "<"),
    "_<=_": (_RELATION, "<="),
    "_>_": (_RELATION, ">"),
    "_>=_": (_RELATION, ">="),
    "@in": (_RELATION, "in"),
    "_+_": (_SUM, "+"),
    "_-_": (_SUM, "-"),
    "_*_": (_PRODUCT, "*"),
    "_/_": (_PRODUCT, "/"),
    "_%_": (_PRODUCT, "%"),
}
_NAME = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*\Z")


def unparse(expr: Expr) -> str:
    """Return the expression as CEL on one line."""
    return _text(expr)[1]


def _text(expr: Expr) -> tuple[int, str]:
    """Return the binding strength and the CEL of an expression."""
    match expr:
        case Literal():
            return literal(expr.value)
        case Ident():
            return _PRIMARY, expr.name
        case Select():
            selected = f"{_held(expr.operand, _PRIMARY)}.{_field(expr.field)}"
            return _PRIMARY, f"has({selected})" if expr.test_only else selected
        case Call():
            return _call(expr)
        case ListExpr():
            items = [
                f"{'?' * (number in expr.optional)}{unparse(each)}"
                for number, each in enumerate(expr.elements)
            ]
            return _PRIMARY, f"[{', '.join(items)}]"
        case MapExpr():
            entries = [
                f"{'?' * entry.optional}{unparse(entry.key)}: {unparse(entry.value)}"
                for entry in expr.entries
            ]
            return _PRIMARY, f"{{{', '.join(entries)}}}"
        case StructExpr():
            fields = [
                f"{'?' * field.optional}{_field(field.name)}: {unparse(field.value)}"
                for field in expr.fields
            ]
            return _PRIMARY, f"{expr.type_name}{{{', '.join(fields)}}}"
        case Comprehension():
            return _PRIMARY, _macro(expr)
    raise TypeError(f"not an expression: {expr!r}")


def _held(expr: Expr, strength: int) -> str:
    """Return the CEL, in parentheses if it binds less strongly than ``strength``."""
    found, text = _text(expr)
    return text if found >= strength else f"({text})"


def literal(value: object) -> tuple[int, str]:
    """Return the binding strength and the CEL of a literal."""
    match value:
        case None:
            return _PRIMARY, "null"
        case bool():
            return _PRIMARY, str(value).lower()
        case str():
            return _PRIMARY, quoted(value)
        case bytes():
            return _PRIMARY, "b" + _bytes(value)
        case UInt():
            return _PRIMARY, f"{value.value}u"
    text = repr(value)
    return (_UNARY if text.startswith("-") else _PRIMARY), text


def quoted(text: str) -> str:
    """Return a string literal, with quotes that need no escapes if possible."""
    if '"' in text and "'" not in text:
        return "'" + json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"') + "'"
    return json.dumps(text, ensure_ascii=False)


def _bytes(value: bytes) -> str:
    shown = (chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\x{c:02x}" for c in value)
    return '"' + "".join(shown) + '"'


def _field(name: str) -> str:
    return name if _NAME.match(name) else f"`{name}`"


def _call(expr: Call) -> tuple[int, str]:
    if expr.function in _BINARY and len(expr.args) == 2:
        return _binary(expr)
    match expr.function, expr.args:
        case ("!_" | "-_") as operator, (operand,):
            held = _held(operand, _UNARY)
            # The grammar drops !! and always reads -1 as a literal.
            if held[0] in "!-" or held[0].isdigit():
                held = f"({held})"
            return _UNARY, operator[0] + held
        case "_?_:_", (condition, yes, no):
            binding = mapped(yes)
            if binding is not None and isinstance(condition, Call) and condition.target:
                shown = f"{binding.macro}({binding.accu_var}, {unparse(binding.result)})"
                return _PRIMARY, f"{_held(condition.target, _PRIMARY)}.{shown}"
            parts = (_held(condition, _OR), _held(yes, _OR), _held(no, _CONDITIONAL))
            return _CONDITIONAL, "{} ? {} : {}".format(*parts)
        case "_[_]", (base, index):
            return _PRIMARY, f"{_held(base, _PRIMARY)}[{unparse(index)}]"
        case "_[?_]", (base, index):
            return _PRIMARY, f"{_held(base, _PRIMARY)}[?{unparse(index)}]"
        case "_?._", (base, Literal(value=str(field))):
            return _PRIMARY, f"{_held(base, _PRIMARY)}.?{_field(field)}"
    target = "" if expr.target is None else f"{_held(expr.target, _PRIMARY)}."
    return _PRIMARY, f"{target}{expr.function}({', '.join(map(unparse, expr.args))})"


def _binary(expr: Call) -> tuple[int, str]:
    strength, sign = _BINARY[expr.function]
    left, right = expr.args
    # The grouping of && and || chains does not matter.
    grouped = strength if strength in (_OR, _AND) else strength + 1
    return strength, f"{_held(left, strength)} {sign} {_held(right, grouped)}"


def mapped(yes: Expr) -> Comprehension | None:
    """Return the binding in the expansion of optMap or optFlatMap."""
    if isinstance(yes, Call) and yes.function == "optional.of" and len(yes.args) == 1:
        yes = yes.args[0]
    if isinstance(yes, Comprehension) and yes.macro in ("optMap", "optFlatMap"):
        return yes
    return None


def _macro(expr: Comprehension) -> str:
    if expr.macro in ("optMap", "optFlatMap"):
        return unparse(expr.result)
    over, arguments = _PARTS[expr.macro](expr)
    names = [name for name in (expr.iter_var, expr.iter_var2) if name]
    if expr.macro == "sortBy":
        names = []
    shown = [*names, *map(unparse, arguments)]
    if expr.macro == "sortBy":
        keys = _sort_keys(expr)
        shown = [keys.iter_var, *shown]
    return f"{_held(over, _PRIMARY)}.{expr.macro}({', '.join(shown)})"


def _sort_keys(expr: Comprehension) -> Comprehension:
    """Return the fold that computes the keys of sortBy."""
    match expr.result:
        case Call(args=(Comprehension() as keys,)):
            return keys
    raise TypeError("not what sortBy makes")


Parts = tuple[Expr, tuple[Expr, ...]]


def _test(expr: Comprehension) -> Parts:
    step = _step(expr)
    return expr.iter_range, (step.args[0 if step.function == "_?_:_" else 1],)


def _collected(expr: Comprehension) -> Parts:
    """Return the condition, if any, and the collected parts."""
    step = _step(expr)
    condition: tuple[Expr, ...] = ()
    match step:
        case Call(function="_?_:_", args=(test, Call() as change, _)):
            step, condition = change, (test,)
    body = step.args[-1]
    if isinstance(expr.accu_init, ListExpr) and isinstance(body, ListExpr):
        body = body.elements[0]
    return expr.iter_range, (*condition, body)


def _filtered(expr: Comprehension) -> Parts:
    over, (condition, _) = _collected(expr)
    return over, (condition,)


def _sorted(expr: Comprehension) -> Parts:
    return expr.accu_init, _collected(_sort_keys(expr))[1]


def _step(expr: Comprehension) -> Call:
    if not isinstance(expr.loop_step, Call):
        raise TypeError(f"not the step of a fold: {expr.loop_step!r}")
    return expr.loop_step


_PARTS: Mapping[str, Callable[[Comprehension], Parts]] = {
    "all": _test,
    "exists": _test,
    "exists_one": _test,
    "map": _collected,
    "filter": _filtered,
    "transformList": _collected,
    "transformMap": _collected,
    "transformMapEntry": _collected,
    "sortBy": _sorted,
}

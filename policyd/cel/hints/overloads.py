"""Type hints: operators and functions with operands of types that they do not take."""

from collections.abc import Callable, Sequence

from policyd.cel.hints.function_names import alias
from policyd.cel.hints.names import styled_call
from policyd.cel.hints.operands import NUMBERS, QUANTITY, SEMVER, operator_hint
from policyd.cel.hints.tree import Tree, held, operands, shown
from policyd.cel.syntax.ast import Call
from policyd.cel.types.declarations import OverloadDecl
from policyd.cel.types.functions import functions
from policyd.cel.types.types import (
    BOOL,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Kind,
    Type,
    is_optional,
)

_SIGNATURES = 3
_CIDR = "net.CIDR"

# The call, its operands as text and their types.
_Hinter = Callable[[Tree, Call, list[str], list[Type]], str]


def overload_hint(tree: Tree, pos: int, function: str) -> str:
    """Return the remedy for a call whose operands have the wrong types."""
    for node, _ in tree.at(pos):
        if isinstance(node, Call) and node.function == function:
            texts = [shown(each) for each in operands(node)]
            types = [tree.type(each) for each in operands(node)]
            hint = operator_hint(node, texts, types)
            if hint:
                return hint
            for hinter in _HINTERS:
                hint = hinter(tree, node, texts, types)
                if hint:
                    return hint
    return ""


def _conditional(tree: Tree, call: Call, texts: list[str], types: list[Type]) -> str:
    if call.function != "_?_:_":
        return ""
    condition, yes, no = types
    if condition not in (BOOL, DYN):
        return f"the condition must be a bool: {_as_bool(texts[0], condition)}"
    if Kind.NULL in (yes.kind, no.kind):
        at = 1 if no.kind is Kind.NULL else 2
        parts = [*texts]
        parts[at] = f"dyn({texts[at]})"
        return (
            f"both values must have one type: write {parts[0]} ? {parts[1]} : {parts[2]}, "
            "or leave a field out with optional.none() and ?"
        )
    if STRING in (yes, no):
        at = 1 if yes != STRING else 2
        convert = f"string({texts[at]}), or dyn({texts[at]})"
        return f"both values must have one type: write {convert}"
    return f"both values must have one type: write dyn({texts[1]})"


def _as_bool(text: str, t: Type) -> str:
    """Return how to make a condition of a value."""
    if is_optional(t):
        return f"write {text}.orValue(false)"
    if t == STRING:
        return f"write {text} != ''"
    if t in NUMBERS:
        return f"write {text} > 0"
    if t.kind in (Kind.LIST, Kind.MAP):
        return f"write size({text}) > 0"
    if t.kind is Kind.NULL:
        return "write true or false"
    return "write a comparison"


def _negated(tree: Tree, call: Call, texts: list[str], types: list[Type]) -> str:
    if call.function == "!_":
        t = types[0]
        if is_optional(t):
            return f"write !{texts[0]}.orValue(false), or !{texts[0]}.hasValue()"
        if t == STRING:
            return f"write {texts[0]} == ''"
        if t in NUMBERS:
            return f"write {texts[0]} == 0"
        if t.kind in (Kind.LIST, Kind.MAP):
            return f"write size({texts[0]}) == 0"
        return f"write !has(…) for a field that is missing, {texts[0]} == … to compare"
    return ""


def _membership(tree: Tree, call: Call, texts: list[str], types: list[Type]) -> str:
    if call.function == "@in":
        whole = types[1]
        if is_optional(whole):
            return f"write {texts[0]} in {texts[1]}.orValue([])"
        if whole == STRING:
            return f"write {held(texts[1])}.contains({texts[0]})"
        if whole.kind is Kind.LIST:
            return f"the list has items of the type {whole.params[0].display()}: convert {texts[0]}"
        if whole.kind is Kind.MAP:
            return f"in looks for keys, which are {whole.params[0].display()}: convert {texts[0]}"
        if whole.kind is Kind.STRUCT:
            return f"write has({texts[1]}.FIELD)"
        if whole.name == _CIDR:
            return _contained(texts[1], texts[0], types[0])
        return f"write {texts[0]} == {texts[1]}; in takes a list or a map"
    if call.function == "_[_]":
        whole, index = types
        if whole.kind is Kind.LIST and index == STRING:
            by_value = f"write {texts[0]}.exists(x, x == {texts[1]})"
            return f"{by_value}, or {texts[0]}.filter(x, x.name == {texts[1]})[0]"
        if whole == STRING:
            return f"write {texts[0]}.charAt({texts[1]})"
    if call.function == "contains" and types and types[0].kind is Kind.LIST and len(types) == 2:
        return f"write {texts[1]} in {texts[0]}"
    if call.function == "contains" and types and types[0].kind is Kind.MAP and len(types) == 2:
        return f"write {texts[1]} in {texts[0]}"
    if call.function == "contains" and types and types[0].name == _CIDR and len(types) == 2:
        return _contained(texts[0], texts[1], types[1])
    return ""


def _contained(cidr: str, text: str, t: Type) -> str:
    """Return how to ask whether a CIDR contains an address or another CIDR."""
    of_range = f"{held(cidr)}.containsCIDR({text})"
    if t.name == _CIDR:
        return f"write {of_range}"
    of_address = f"write {held(cidr)}.containsIP({text})"
    return (
        of_address if t.name == "net.IP" else f"{of_address} for an address, {of_range} for a range"
    )


def _style(tree: Tree, call: Call, texts: list[str], types: list[Type]) -> str:
    """A member that is called as a global function, or the other way round; other arguments."""
    name = call.function
    overloads = tree.scope.functions.get(name, ())
    member = call.target is not None
    other = [each for each in overloads if each.member != member]
    same = [each for each in overloads if each.member == member]
    fits = [each for each in other if len(each.args) == len(types)]
    if fits and not any(len(each.args) == len(types) for each in same):
        order = texts
        if name in ("join", "matches") and len(texts) == 2 and types[0] == STRING != types[1]:
            order = texts[::-1]
        return f"write {styled_call(tree, name, order)}"
    lacking = [each for each in other if each.member and len(each.args) == len(types) + 1]
    if lacking and not any(len(each.args) == len(types) for each in same):
        return f"write x.{name}({', '.join(texts)})"
    if name == "string" and len(types) == 1 and types[0].kind is Kind.LIST:
        return f"write {held(texts[0])}.join(', ')"
    if name == "or" and member and is_optional(types[0]) and len(types) == 2:
        return f"write {held(texts[0])}.orValue({texts[1]})"
    if name == "join" and len(types) == 2 and types[1].kind is Kind.LIST:
        return f"write {texts[1]}.join({texts[0]})"
    if name in ("int", "uint", "double") and types == [BOOL]:
        return f"write {texts[0]} ? 1 : 0"
    if name == "format" and types and types[0] == STRING and len(types) >= 2:
        return f"write {held(texts[0])}.format([{', '.join(texts[1:])}])"
    if any(map(is_optional, types[:1])):
        return f"write {held(texts[0])}.orValue(…).{name}({', '.join(texts[1:])})" if member else ""
    for overload in same:
        if len(overload.args) == len(types):
            converted = _arguments(texts, types, overload.args)
            if converted is not None:
                return f"write {styled_call(tree, name, converted)}"
    counts = sorted({len(each.args) - member for each in same})
    given = len(types) - member
    if counts and given not in counts:
        return f"{name} takes {' or '.join(map(str, counts))} arguments, not {given}"
    if not name[0].isalpha():
        return ""
    return alias(name, texts) or _signatures(tree, [*same, *other])


def _signatures(tree: Tree, overloads: Sequence[OverloadDecl]) -> str:
    rows = functions(tree.scope.version).by_id
    known = [rows[each.id].signature for each in overloads if each.id in rows][:_SIGNATURES]
    return f"known are {'; '.join(known)}" if known else ""


def _arguments(texts: list[str], types: list[Type], wanted: tuple[Type, ...]) -> list[str] | None:
    """Return the operands converted to what an overload takes; None if that is not possible."""
    made: list[str] = []
    for text, given, want in zip(texts, types, wanted, strict=True):
        if given in (want, DYN) or want.kind in (Kind.PARAM, Kind.DYN):
            made.append(text)
        elif want == STRING and given in (*NUMBERS, BOOL):
            made.append(f"'{text}'" if text.isdigit() else f"string({text})")
        elif want in (INT, DOUBLE) and given in (STRING, INT, UINT, DOUBLE):
            made.append(f"{want.name}({text})")
        elif given == STRING and want.name in (QUANTITY, SEMVER):
            made.append(f"{'quantity' if want.name == QUANTITY else 'semver'}({text})")
        elif given == STRING and want.name in ("net.IP", "net.CIDR"):
            made.append(f"{want.name[4:].lower()}({text})")
        elif given == STRING and want in (TIMESTAMP, DURATION):
            made.append(f"{want.display()}({text})")
        else:
            return None
    return made


_HINTERS: tuple[_Hinter, ...] = (
    _conditional,
    _negated,
    _membership,
    _style,
)

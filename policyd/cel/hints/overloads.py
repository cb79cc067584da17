"""Type hints: operators and functions with operands of types that they do not take."""

from collections.abc import Callable, Mapping, Sequence

from policyd.cel.hints.names import styled_call
from policyd.cel.hints.operands import SEMVER, operator_hint
from policyd.cel.hints.quantities import QUANTITY, quantity_hint
from policyd.cel.hints.tree import NUMBERS, Tree, converted, held, shown
from policyd.cel.hints.vocabulary import alias, of_type
from policyd.cel.syntax.ast import Call
from policyd.cel.syntax.recursion import children
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
    is_patch_object,
)

_SIGNATURES = 3
_CIDR = "net.CIDR"
_OF_OPTIONALS = ("hasValue", "value")
_AUTHORIZER = "kubernetes.authorization.Authorizer"

_OF_A_QUANTITY = {
    "int": "write {0}.asInteger()",
    "double": "write {0}.asApproximateFloat()",
    "string": "a quantity cannot be converted to a string: use the string that it is made of",
}

# The operands as text, and their types.
_Hinter = Callable[[list[str], list[Type]], str]


def overload_hint(tree: Tree, pos: int, function: str) -> str:
    """Return the remedy for a call whose operands have the wrong types."""
    for node, above in tree.at(pos):
        if isinstance(node, Call) and node.function == function:
            texts = [shown(each) for each in children(node)]
            types = [tree.type(each) for each in children(node)]
            if function in _OF_OPTIONALS and "." in "".join(texts[:1]):  # as optMap() is expanded
                base, _, field = texts[0].rpartition(".")
                return f"write {base}.?{field}, an optional, in place of {texts[0]}"
            hint = quantity_hint(tree, node, above) or _by_name(tree, node, texts, types)
            hint = hint or _index(tree, node, texts, types) or operator_hint(node, texts, types)
            if not hint and function in _BY_FUNCTION:
                hint = _BY_FUNCTION[function](texts, types)
            if hint := hint or _style(tree, node, texts, types):
                return hint
    return ""


def _by_name(tree: Tree, node: Call, texts: list[str], types: list[Type]) -> str:
    """Return the remedy for objects that are compared with a name: ``e == 'DEBUG'``."""
    if node.function not in ("_==_", "_!=_", "@in") or STRING not in types:
        return ""
    at = 1 - types.index(STRING)
    if node.function != "@in":
        name, parts = _name_of(tree, types[at]), [*texts]
        parts[at] += f".{name}"
        return f"write {parts[0]} {node.function.strip('_')} {parts[1]}" if name else ""
    if at == 0 or types[1].kind is not Kind.LIST:
        return ""
    name, (item, whole) = _name_of(tree, types[1].params[0]), texts
    remedy = f"write {whole}.exists(x, x.{name} == {item})"
    if whole.startswith("reads."):
        remedy = f"give the read a key, such as key: item.{name}"
    return f"the items of {whole} are objects: {remedy}" if name else ""


def _name_of(tree: Tree, item: Type) -> str:
    """Return the field with the name of an object; empty if it has none, or is no object."""
    if item.kind is not Kind.STRUCT or item.name.startswith("kubernetes."):
        return ""
    field = tree.scope.provider.field
    if field(item, "name") == STRING:
        return "name"
    metadata = field(item, "metadata")
    return "metadata.name" if metadata and field(metadata, "name") == STRING else ""


def _conditional(texts: list[str], types: list[Type]) -> str:
    condition, yes, no = types
    if condition not in (BOOL, DYN):
        return f"the condition must be a bool: {of_type('asCondition', condition, texts[0])}"
    if is_patch_object(yes.name) or is_patch_object(no.name):
        return "both values must have one type: write Object{} where nothing changes"
    if Kind.NULL in (yes.kind, no.kind):
        at = 1 if no.kind is Kind.NULL else 2
        instead = _EMPTY.get(types[at]) or _EMPTY.get(types[at].kind)
        if instead:
            return f"both values must have one type: write {instead} in place of null"
        parts = [*texts]
        parts[at] = f"dyn({texts[at]})"
        any_value = f"{parts[0]} ? {parts[1]} : {parts[2]}"
        text = "write '' in place of null for no text, " if STRING in (yes, no) else "write "
        return (
            f"both values must have one type: {text}{any_value} for any value, "
            "or leave a field out with optional.none() and ?"
        )
    if STRING in (yes, no):
        at = 1 if yes != STRING else 2
        convert = f"string({texts[at]}), or dyn({texts[at]})"
        if types[at] == BOOL:
            whole = "a condition is true or false, and its text belongs in messageExpression"
            return f"both values must have one type: {whole}; for a text write {convert}"
        return f"both values must have one type: write {convert}"
    return f"both values must have one type: write dyn({texts[1]})"


_EMPTY: Mapping[Type | Kind, str] = {BOOL: "true or false", Kind.LIST: "[]", Kind.MAP: "{}"}


def _in(texts: list[str], types: list[Type]) -> str:
    item, text = texts
    whole = types[1]
    if types[0].name == QUANTITY and whole.kind is Kind.LIST:
        return f"write {text}.exists(x, {item} == {converted('quantity', 'x', whole.params[0])})"
    if is_optional(whole):
        return f"write {item} in {text}.orValue([])"
    if whole == STRING and _is_quoted(text) and "," in text:
        words = [f"'{each.strip()}'" for each in text[1:-1].split(",")]
        return f"write {item} in [{', '.join(words)}]"
    if whole == STRING and _is_quoted(text) and not _is_quoted(item):
        return f"write {item} == {text}, or {item} in [{text}] for one of several values"
    if whole == STRING:
        return f"write {held(text)}.contains({item})"
    if whole.kind is Kind.LIST:
        of = whole.params[0]
        if of in (*NUMBERS, STRING):
            return f"write {of.name}({item}) in {text}"
        return f"the list has items of the type {of.display()}: convert {item}"
    if whole.kind is Kind.MAP:
        return f"in looks for keys, which are {whole.params[0].display()}: convert {item}"
    if whole.kind is Kind.STRUCT:
        return f"write has({text}.FIELD)"
    if whole.name == _CIDR:
        return _contained(text, item, types[0])
    return f"write {item} == {text}; in takes a list or a map"


def _is_quoted(text: str) -> bool:
    return text[:1] in ("'", '"')


def _index(tree: Tree, node: Call, texts: list[str], types: list[Type]) -> str:
    """Return the remedy for a list that is indexed by a string: ``containers['web']``."""
    if node.function not in ("_[_]", "_[?_]"):
        return ""
    (whole, index), (text, key) = types, texts
    if whole.kind is not Kind.LIST or index not in (STRING, DYN):
        return f"write {text}.charAt({key})" if whole == STRING else ""
    of, is_read = whole.params[0], text.startswith("reads.")
    if is_read and text.removeprefix("reads.").isidentifier():
        field = "namespace" if "namespace" in key else "name"
        item = f"item.metadata.{field}"
        return f"give the read key: {item}, and write {text}[?{key}].orValue([])"
    by_value = f"{text}.exists(x, x == {key})"
    if of == STRING:
        return f"write {by_value}"
    if of in NUMBERS:
        return f"the items of a list have numbers, from 0: write {text}[0]"
    name = "metadata.name" if is_read else _naming_field(tree, of)
    by_field = f"write {text}.filter(x, x.{name} == {key})[0], by a field of its items"
    return f"{by_field}, or {by_value}" if of == DYN and not is_read else by_field


def _naming_field(tree: Tree, item: Type) -> str:
    """Return the field that probably identifies the items of a list."""
    provider = tree.scope.provider
    fields = [each for each in provider.fields(item) if provider.field(item, each) == STRING]
    if "name" in fields or item.kind is not Kind.STRUCT:
        return "name"
    return "metadata.name" if provider.field(item, "metadata") else min(fields, default="FIELD")


def _contains(texts: list[str], types: list[Type]) -> str:
    if len(types) != 2:
        return ""
    if types[0].kind in (Kind.LIST, Kind.MAP):
        return f"write {texts[1]} in {texts[0]}"
    return _contained(texts[0], texts[1], types[1]) if types[0].name == _CIDR else ""


def _contained(cidr: str, text: str, t: Type) -> str:
    """Return how to check whether a CIDR contains an address or another CIDR."""
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
    if own := _other_function(call, texts, types):
        return own
    receivers = [each.args[0] for each in same if each.member and each.args]
    if any(map(is_optional, types[:1])) and not any(map(is_optional, receivers)):
        return f"write {held(texts[0])}.orValue(…).{name}({', '.join(texts[1:])})" if member else ""
    for overload in same:
        if len(overload.args) == len(types):
            fitting = _arguments(texts, types, overload.args)
            if fitting is not None:
                return f"write {styled_call(tree, name, fitting)}"
    counts = sorted({len(each.args) - member for each in same})
    given = len(types) - member
    if counts and given not in counts:
        noun = "argument" if counts == [1] else "arguments"
        signatures = _signatures(tree, same)
        takes = f"{name} takes {' or '.join(map(str, counts))} {noun}, not {given}"
        return f"{takes}: {signatures}" if signatures else takes
    if not name[0].isalpha():
        return ""
    return alias(name, texts) or _signatures(tree, [*same, *other])


def _other_function(call: Call, texts: list[str], types: list[Type]) -> str:
    """Return what another function, or operator, does with these operands; empty if none does."""
    first = types[0] if types else DYN
    if first.name == QUANTITY and call.function in _OF_A_QUANTITY and len(types) == 1:
        return _OF_A_QUANTITY[call.function].format(held(texts[0]))
    if first.kind is Kind.TYPE and call.target is not None and len(types) > 1:
        return f"write {held(texts[1])}.{call.function}({', '.join(texts[2:])})"
    match call.function, len(types):
        case "duration", 1 if first in NUMBERS:
            return f"write duration(string({texts[0]}) + 's')"
        case "string", 1 if first.kind is Kind.LIST:
            return f"write {held(texts[0])}.join(', ')"
        case "sum", 1 if first.kind is Kind.LIST and first.params[0].name == QUANTITY:
            return f"write {held(texts[0])}.map(q, q.asApproximateFloat()).sum()"
        case "or", 2 if call.target is not None and is_optional(first):
            return f"write {held(texts[0])}.orValue({texts[1]})"
        case "join", 2 if types[1].kind is Kind.LIST:
            return f"write {texts[1]}.join({texts[0]})"
        case "int" | "uint" | "double", 1 if first == BOOL:
            return f"write {texts[0]} ? 1 : 0"
        case "startsWith" | "endsWith" | "contains" | "matches" as name, 2 if (
            types[1].kind is Kind.LIST and first in (STRING, DYN) and call.target is not None
        ):
            return f"write {texts[1]}.exists(x, {held(texts[0])}.{name}(x))"
        case "check", _ if first.name == _AUTHORIZER:
            return "write authorizer.group('apps').resource('deployments').check('get').allowed()"
        case "format", count if first == STRING and count >= 2:
            return f"write {held(texts[0])}.format([{', '.join(texts[1:])}])"
    return ""


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
        elif want in (INT, DOUBLE) and given == STRING and _is_quoted(text):
            return None
        elif want in (INT, DOUBLE) and given in (STRING, INT, UINT, DOUBLE):
            made.append(f"{want.name}({text})")
        elif given in NUMBERS and want.name == QUANTITY:
            made.append(converted("quantity", text, given))
        elif given == STRING and want.name in (QUANTITY, SEMVER):
            made.append(f"{'quantity' if want.name == QUANTITY else 'semver'}({text})")
        elif given == STRING and want.name in ("net.IP", "net.CIDR"):
            made.append(f"{want.name[4:].lower()}({text})")
        elif given == STRING and want in (TIMESTAMP, DURATION):
            made.append(f"{want.display()}({text})")
        else:
            return None
    return made


_BY_FUNCTION: Mapping[str, _Hinter] = {
    "_?_:_": _conditional,
    "!_": lambda texts, types: of_type("asNegated", types[0], texts[0]),
    "-_": lambda texts, types: (
        f"write quantity('0').sub({texts[0]})" if types[0].name == QUANTITY else ""
    ),
    "@in": _in,
    "contains": _contains,
}

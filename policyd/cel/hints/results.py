"""Type hints: values where another type is needed, and invalid literals."""

import re
from dataclasses import replace

from policyd._core.regex.scanner import RegexSyntaxError
from policyd._core.regex.syntax import parse
from policyd.cel.hints.globs import instead_of_glob, is_glob
from policyd.cel.hints.tree import NUMBERS, Tree, held, shown
from policyd.cel.hints.vocabulary import of_type
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
from policyd.cel.types.types import (
    BOOL,
    DYN,
    JSON_PATCH,
    LIST_OF_JSONPATCH,
    OBJECT,
    STRING,
    Kind,
    Type,
    is_optional,
    is_patch_object,
)

_OPPOSITES = {"_==_": "_!=_", "_<_": "_>=_", "_<=_": "_>_"}
_OPPOSITES |= {opposite: each for each, opposite in _OPPOSITES.items()}


def result_hint(expr: Expr, found: Type, wanted: tuple[Type, ...]) -> str:
    """Return the remedy for an expression whose value has another type than its field needs."""
    text = shown(expr, "EXPRESSION")
    if BOOL in wanted:
        return _bool(expr, text, found)
    if LIST_OF_JSONPATCH in wanted:
        return _patches(text, found)
    if OBJECT in wanted:
        return _object(expr, found)
    if STRING in wanted:
        branches = expr.args[1:] if isinstance(expr, Call) and expr.function == "_?_:_" else ()
        constants = [each.value for each in branches if isinstance(each, Literal)]
        if found == DYN and None in constants:
            return "write '' in place of null: an empty text counts as none"
        return of_type("asText", found, text)
    return ""


def _bool(expr: Expr, text: str, found: Type) -> str:
    if is_optional(found) and found.params[0] not in (BOOL, DYN):
        return f"write {held(text)}.hasValue()"
    if found == STRING and isinstance(expr, Literal) and expr.value in ("true", "false"):
        return f"write {expr.value} without quotes"
    if found == STRING and (valid := _valid(expr)):
        return (
            "a validation is true or false: write the condition under which the object is "
            f"valid: {valid}; its text belongs in message or messageExpression"
        )
    if found in NUMBERS and isinstance(expr, Literal):
        return "write true or false, or a comparison"
    macro = expr.macro if isinstance(expr, Comprehension) else ""
    if macro in ("map", "filter") and found.kind is Kind.LIST:
        method = "all" if macro == "map" else "exists"
        return f"write .{method}(x, CONDITION) in place of .{macro}, or compare size(…)"
    return of_type("asResult", found, text)


def _valid(expr: Expr) -> str:
    """Return when ``C ? 'text' : ''`` has no text; empty for other expressions."""
    if not isinstance(expr, Call) or expr.function != "_?_:_":
        return ""
    condition, yes, no = expr.args
    if _is_empty(yes):
        return _bare(condition)
    if _is_empty(no):
        return _negated(condition)
    rest = _valid(no)
    parts = (_negated(condition), rest) if rest else ()
    return " && ".join(f"({each})" if "||" in each else each for each in parts)


def _is_empty(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value == ""


def _bare(expr: Expr) -> str:
    """Return a condition as a whole expression, whose type the checker must know."""
    text = shown(expr, "CONDITION")
    field = isinstance(expr, Select) and not expr.test_only
    return f"{text} == true" if field or getattr(expr, "function", "") == "_[_]" else text


def _negated(expr: Expr) -> str:
    function = expr.function if isinstance(expr, Call) else ""
    if isinstance(expr, Call) and function == "!_":
        return _bare(expr.args[0])
    if isinstance(expr, Call) and function in _OPPOSITES:
        return shown(replace(expr, function=_OPPOSITES[function]), "CONDITION")
    return f"!{held(shown(expr, 'CONDITION'))}"


def _patches(text: str, found: Type) -> str:
    if found == JSON_PATCH:
        short = text if text != "EXPRESSION" else "JSONPatch{…}"
        return f"write a list: [{short}]"
    if is_patch_object(found.name):
        return "Object{…} is for patchType ApplyConfiguration: write [JSONPatch{…}]"
    patch = "JSONPatch{op: 'add', path: '/spec/x', value: …}"
    return f"write each item as {patch}" if found.kind is Kind.LIST else f"write a list: [{patch}]"


def _object(expr: Expr, found: Type) -> str:
    if (found.name == "list" and found.params[0] == JSON_PATCH) or found == JSON_PATCH:
        return "JSONPatch{…} is for patchType JSONPatch: write Object{…}"
    if is_patch_object(found.name):
        inner = found.name.partition(".")[2].split(".")
        return f"write the whole object: Object{{{inner[0]}: {found.name}{{…}}}}"
    first = expr.entries[0].key if isinstance(expr, MapExpr) and expr.entries else None
    name = first.value if isinstance(first, Literal) else "spec"
    return f"write Object{{{name}: Object.{name}{{…}}}} with the fields to change"


def mismatch_hint(tree: Tree, pos: int, wanted: str, found: str) -> str:
    """Return the remedy for ``expected type … but found …``."""
    for node, above in tree.at(pos):
        if tree.type(node).display() != found:
            continue
        parent = above[0] if above else None
        keys = [each.key for each in parent.entries] if isinstance(parent, MapExpr) else []
        if {"op", "path"} <= {each.value for each in keys if isinstance(each, Literal)}:
            return "write JSONPatch{op: 'add', path: …, value: …} in place of the map"
        if isinstance(parent, ListExpr | MapExpr):
            return f"all items must have one type: write dyn({shown(node)}), or convert it"
        if wanted == "bool":
            repeated = _repeated(parent, node) if isinstance(parent, Call) else ""
            return repeated or of_type("asOperand", tree.type(node), shown(node))
        if isinstance(parent, Call | Comprehension | StructExpr):
            break
    return f"convert it: {wanted}(…)" if wanted in ("string", "int", "double") else ""


def _repeated(parent: Call, node: Expr) -> str:
    """Return the remedy for ``a == 'b' || 'c'``: the test before it, of the other value."""
    if not isinstance(node, Literal):
        return ""
    test = next((each for each in parent.args if each is not node), None)
    if isinstance(test, Call) and test.function == parent.function:
        test = test.args[-1]
    if not isinstance(test, Call) or not test.args or not isinstance(test.args[-1], Literal):
        return ""
    again = replace(test, args=(*test.args[:-1], node))
    return f"write {shown(again)}"


def selection_hint(tree: Tree, pos: int) -> str:
    """Return the remedy for a field of a value that has none: ``list.length``, ``list.name``."""
    for node, _ in tree.at(pos):
        field, whole = getattr(node, "field", ""), getattr(node, "operand", None)
        if isinstance(node, Call) and node.function == "_?._":
            whole = node.args[0]
            field = str(getattr(node.args[1], "value", ""))
        if whole is None:
            continue
        found = tree.type(whole)
        if field.lower() in ("length", "size", "len", "count"):
            return f"write size({shown(whole)})"
        if found.kind is Kind.LIST:
            name = shown(whole, "list")
            if field == "items" and name.startswith("reads."):  # as in the List of kubectl get
                return f"{name} is the list itself: leave out .items"
            return (
                f"a list has no fields: write {name}[0].{field}, {name}.all(x, x.{field} …) "
                f"or {name}.map(x, x.{field})"
            )
        overloads = tree.scope.functions.get(field, ())
        if keyed := _of_key(tree, whole):
            return keyed
        if any(each.member and each.args[0] in (found, DYN) for each in overloads):
            return f"write {shown(whole)}.{field}()"
        if found.name == "kubernetes.Quantity":
            return f"write {shown(whole)}.asInteger(), .asApproximateFloat() or .compareTo(…)"
        if shown(whole) == "request.namespace":
            return "write namespaceObject.metadata"
        if found == STRING or is_optional(found):
            keyed = _keyed(shown(whole, ""), field)
            if keyed:
                return keyed
        return f"the type {found.display()} has no fields"
    return ""


def _of_key(tree: Tree, whole: Expr) -> str:
    """Return the remedy for a field of a key of a map: ``labels.exists(l, l.key == 'team')``."""
    for node, _ in tree.nodes:
        if isinstance(node, Comprehension) and isinstance(whole, Ident):
            over = node.iter_range
            if node.iter_var == whole.name and tree.type(over).kind is Kind.MAP:
                name, text = whole.name, shown(over, "map")
                return f"{name} is a key: write {name} == …, and {text}[{name}] for its value"
    return ""


def _keyed(text: str, field: str) -> str:
    """Return the remedy for a key with dots: ``labels.app.kubernetes``."""
    for name in ("labels", "annotations"):
        base, found, key = text.partition(f"{name}.")
        if found:
            return f"write the whole key in brackets: {base}{name}['{key.strip('?')}.{field}…']"
    return ""


def range_hint(found: str) -> str:
    """Return the remedy for a macro over a value that is no list and no map."""
    if found == "string":
        return "write list.all(…); a string has no items: string.split('') makes a list of it"
    if found.startswith("optional_type"):
        return "write a.?b.orValue([]).all(…)"
    return "a macro needs a list or a map before its dot"


def struct_hint(field: str, wanted: str, found: str) -> str:
    """Return the remedy for a field of ``Type{field: value}`` with a value of another type."""
    if wanted == "":
        return "JSONPatch has the fields op, path, from and value"
    if wanted == "string":
        return f"write {field}: string(…), or a string in quotes"
    return f"convert it from {found} to {wanted}"


_DAYS = re.compile(r"(?:(\d{1,4})w)?(?:(\d{1,4})d)?(?:(\d{1,4})h)?")
_BORROWED = ("(?=", "(?!", "(?<")


def duration_hint(tree: Tree, pos: int) -> str:
    """Return the hours of days and weeks, which durations do not have, or what they have."""
    for node, _ in tree.at(pos):
        text = node.value if isinstance(node, Literal) else None
        days = _DAYS.fullmatch(text) if isinstance(text, str) else None
        if days is not None and text:
            weeks, whole, hours = (int(each or 0) for each in days.groups())
            return f"write '{(weeks * 7 + whole) * 24 + hours}h'; h is the largest unit"
    return "write a number with h, m, s or ms, such as '24h' or '1h30m'"


def pattern_hint(tree: Tree, pos: int) -> str:
    """Return what RE2 does not accept of a pattern, and the remedy if it is of another engine."""
    found = ((node.value, above) for node, above in tree.at(pos) if isinstance(node, Literal))
    pattern, above = next(found, (None, ()))
    if not isinstance(pattern, str):
        return ""
    try:
        parse(pattern)
    except RegexSyntaxError as error:
        reason = str(error).removeprefix("error parsing regexp: ")
    else:
        reason = "the pattern is too large"
    if is_glob(pattern) and above and isinstance(above[0], Call) and above[0].target is not None:
        of = held(shown(above[0].target, "x"))
        return f"{reason}; for a glob write {instead_of_glob(pattern, of)}"
    if any(each in pattern for each in _BORROWED):
        return (
            f"{reason}; RE2 does not look ahead or behind: combine several matches() with && and !"
        )
    if any(f"\\{digit}" in pattern for digit in "123456789"):
        return f"{reason}; RE2 has no back-references"
    return reason

"""Variables for what the expressions of a policy repeat.

A variable is evaluated where it is first read, with the result or the error that the expression
itself would have there. A part that depends on the variable of a macro cannot be shared.
"""

from collections.abc import Iterator, Sequence

from policyd.cel.syntax.ast import Call, Comprehension, Expr, Ident, Literal, Select, StructExpr
from policyd.cel.syntax.ast import qualified_name as path_of
from policyd.cel.syntax.lexer import RESERVED
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import nodes
from policyd.cel.syntax.unparse import unparse
from policyd.errors import CelSyntaxError
from policyd.export.expressions.brackets import balanced
from policyd.export.expressions.rewriting import free_name
from policyd.json_types import JSONObject
from policyd.versions import NEWEST

_LONG = 40  # characters: shorter than that, the name of a variable is no gain
_LONG_PATTERN = 24
_LONGEST = 400  # so that the work grows with the length of an expression, not with its square
_FIELDS = ("expression", "messageExpression", "valueExpression")
_PATCHES = ("jsonPatch", "applyConfiguration")
_OBJECTS = {"object", "oldObject", "namespaceObject", "params", "reads"}
_ROOTS = {*_OBJECTS, "request", "authorizer", "variables"}
_MATCHES = (".matches(", ".find(", ".findAll(")
# The map of an expression, its field in it, and what is there from one place to another.
_Place = tuple[JSONObject, str, int, int]


def share(spec: JSONObject) -> None:
    """Give the ``spec`` of a Policy variables for what is long and occurs more than once.

    matchConditions stay as they are: they are evaluated before there are variables.
    """
    while (found := _most_repeated(spec)) is not None:
        _share(spec, *found)


def expressions_of(spec: JSONObject) -> Iterator[tuple[JSONObject, str]]:
    """Yield the fields with expressions that may read variables, the variables' own first."""
    holders = [
        each
        for field in ("variables", "validations", "auditAnnotations", "mutations")
        for each in spec.get(field) or ()
    ]
    holders += [each[form] for each in holders for form in _PATCHES if each.get(form)]
    for holder in holders:
        yield from ((holder, field) for field in _FIELDS if isinstance(holder.get(field), str))


def _most_repeated(spec: JSONObject) -> tuple[str, Sequence[_Place]] | None:
    found: dict[str, list[_Place]] = {}
    for holder, field in expressions_of(spec):
        text = holder[field]
        for start, end in balanced(text, _LONGEST):
            least = _LONG_PATTERN if text.endswith(_MATCHES, 0, start) else _LONG
            if end - start >= least:
                found.setdefault(text[start:end], []).append((holder, field, start, end))
    repeated = [text for text, places in found.items() if len(places) > 1]
    for text in sorted(repeated, key=lambda each: -(len(found[each]) - 1) * len(each)):
        places = found[text]
        if _is_value(text, places) and all(map(_is_part, places)):
            return text, places
    return None


def _is_value(text: str, places: Sequence[_Place]) -> bool:
    """Whether a text is an expression that can be a variable: it reads no variable of a macro."""
    root = _tree(text)
    grouped = text.startswith("(") and _tree(text[1:-1]) is not None
    if root is None or grouped or path_of(root) is not None:
        return False
    if isinstance(root, Literal):
        return all(holder[field][:start].endswith(_MATCHES) for holder, field, start, _ in places)
    whole = [*nodes(root)]
    bound = {
        name
        for each in whole
        if isinstance(each, Comprehension)
        for name in (each.iter_var, each.iter_var2, each.accu_var)
    }
    names = {each.name for each in whole if isinstance(each, Ident)} - bound
    return names <= _ROOTS and not any(isinstance(each, StructExpr) for each in whole)


def _is_part(place: _Place) -> bool:
    """Whether a text is an operand or an argument where it occurs."""
    holder, field, start, end = place
    text = holder[field]
    root, enclosed = _tree(text), _tree(f"{text[:start]}({text[start:end]}){text[end:]}")
    return root is not None and enclosed is not None and unparse(root) == unparse(enclosed)


def _tree(text: str) -> Expr | None:
    try:
        return parse(text, NEWEST)
    except CelSyntaxError:
        return None


def _share(spec: JSONObject, expression: str, places: Sequence[_Place]) -> None:
    variables: list[JSONObject] = spec.setdefault("variables", [])
    holders = {id(holder) for holder, *_ in places}
    at = next((i for i, each in enumerate(variables) if id(each) in holders), len(variables))
    whole = variables[at] if at < len(variables) else {}
    if whole.get("expression") != expression:
        name = free_name(_name(expression), (str(each["name"]) for each in variables))
        whole = {"name": name, "expression": expression}
        variables.insert(at, whole)
    for holder, field, start, end in reversed(places):
        if holder is not whole:
            before, after = holder[field][:start], holder[field][end:]
            called = before[-2:-1].isalnum() or before[-2:-1] == "_"
            if before.endswith("(") and after.startswith(")") and not called:
                before, after = before[:-1], after[1:]
            holder[field] = f"{before}variables.{whole['name']}{after}"


def _name(expression: str) -> str:
    """Return a name for a value: the name of the field which it is read from."""
    root = parse(expression, NEWEST)
    fields = dict.fromkeys(name for each in nodes(root) if (name := _field(each)))
    if sum(each.lower().endswith("containers") for each in fields) > 1:
        return "allContainers"
    usable = (each for each in fields if each.isidentifier() and each not in RESERVED)
    return "pattern" if isinstance(root, Literal) else next(usable, "shared")


def _field(node: Expr) -> str:
    match node:
        case Select(field=str(name)) | Call(function="_?._", args=(_, Literal(value=str(name)))):
            return name
    return ""

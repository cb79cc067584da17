"""Variables for what the expressions of a policy repeat.

A variable is evaluated where it is first read, with the result or the error that the expression
itself would have there. What depends on the variable of a macro cannot be shared.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policyd.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    Literal,
    Select,
    StructExpr,
    qualified_name,
)
from policyd.cel.syntax.lexer import RESERVED, Token, tokenize
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import nodes
from policyd.cel.syntax.unparse import unparse
from policyd.errors import CelSyntaxError
from policyd.export.expressions.rewriting import free_name
from policyd.json_types import JSONObject
from policyd.versions import NEWEST

_LONG = 40  # characters: shorter than that, the name of a variable is no gain
_LONG_PATTERN = 24
_FIELDS = ("expression", "messageExpression", "valueExpression")
_PATCHES = ("jsonPatch", "applyConfiguration")
_ROOTS = frozenset(
    ("object", "oldObject", "request", "params", "namespaceObject", "authorizer", "variables")
)
_GROUP = re.compile(r"(?<!\w)\(\Z")  # a parenthesis that calls no function
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")


def share(spec: JSONObject) -> None:
    """Give the ``spec`` of a Policy variables for what is long and occurs more than once.

    matchConditions stay as they are: they are evaluated before there are variables.
    """
    while (found := _most_repeated(spec)) is not None:
        _share(spec, found)


def expressions_of(spec: JSONObject) -> Iterator[tuple[JSONObject, str]]:
    """Yield the fields with expressions that may read variables, those of the variables first."""
    holders = [
        each
        for field in ("variables", "validations", "auditAnnotations", "mutations")
        for each in spec.get(field) or ()
    ]
    holders += [each[form] for each in holders for form in _PATCHES if each.get(form)]
    for holder in holders:
        yield from ((holder, field) for field in _FIELDS if isinstance(holder.get(field), str))


@dataclass(frozen=True, slots=True)
class _Repeated:
    """A part of expressions: its text, its tree, and where it occurs."""

    text: str
    node: Expr
    places: list[tuple[JSONObject, str, int, int]]

    @property
    def gain(self) -> int:
        return (len(self.places) - 1) * len(self.text)


def _most_repeated(spec: JSONObject) -> _Repeated | None:
    found: dict[str, _Repeated] = {}
    seen: set[tuple[int, str, int, int]] = set()
    for holder, field in expressions_of(spec):
        text = holder[field]
        source = _Source(text)
        for node in source.parts():
            key = unparse(node)
            span = source.span(node)
            if span is None or _key(text[slice(*span)]) != key:
                continue  # what a macro is made of
            one = found.setdefault(key, _Repeated(text[slice(*span)], node, []))
            if (place := (id(holder), field, *span)) not in seen:  # a macro may copy its parts
                seen.add(place)
                one.places.append((holder, field, *span))
    repeated = [each for each in found.values() if len(each.places) > 1]
    return max(repeated, key=lambda each: each.gain, default=None)


def _share(spec: JSONObject, found: _Repeated) -> None:
    variables: list[JSONObject] = spec.setdefault("variables", [])
    holders = {id(holder) for holder, *_ in found.places}
    at = next((i for i, each in enumerate(variables) if id(each) in holders), len(variables))
    whole = variables[at] if at < len(variables) else {}
    if whole.get("expression") != found.text:
        name = free_name(_name(found.node), (str(each["name"]) for each in variables))
        whole = {"name": name, "expression": found.text}
        variables.insert(at, whole)
    for holder, field, start, end in sorted(found.places, key=lambda each: each[2], reverse=True):
        if holder is not whole:
            before, after = holder[field][:start], holder[field][end:]
            if after.startswith(")") and _GROUP.search(before):
                before, after = before[:-1], after[1:]
            holder[field] = f"{before}variables.{whole['name']}{after}"


def _is_closed(root: Expr) -> bool:
    """Whether a part depends on no variable of a macro around it, and can be a value."""
    bound = {name for each in nodes(root) for name in _bound_by(each)}
    names = {each.name for each in nodes(root) if isinstance(each, Ident)} - bound
    return names <= _ROOTS and not any(isinstance(each, StructExpr) for each in nodes(root))


def _bound_by(node: Expr) -> tuple[str, ...]:
    if not isinstance(node, Comprehension):
        return ()
    return node.iter_var, node.iter_var2, node.accu_var


def _name(node: Expr) -> str:
    """Return a name for a value: that of the field which it is read from."""
    fields = [name for each in nodes(node) if (name := _field(each))]
    if sum(each.lower().endswith("containers") for each in dict.fromkeys(fields)) > 1:
        return "allContainers"
    usable = [each for each in fields if each.isidentifier() and each not in RESERVED]
    return "pattern" if isinstance(node, Literal) else (usable or ["shared"])[0]


def _field(node: Expr) -> str:
    match node:
        case Select(field=str(name)) | Call(function="_?._", args=(_, Literal(value=str(name)))):
            return name
    return ""


def _key(text: str) -> str:
    try:
        return unparse(parse(text, NEWEST))
    except CelSyntaxError:
        return ""


@dataclass(slots=True)
class _Source:
    """The source of an expression, and the places of the parts of its tree."""

    text: str
    root: Expr
    tokens: list[Token]
    at: Mapping[int, int]

    def __init__(self, text: str) -> None:
        self.text = text
        self.root = parse(text, NEWEST)
        self.tokens = [each for each in tokenize(text)[0] if each.text]
        self.at = {each.pos: index for index, each in enumerate(self.tokens)}

    def parts(self) -> Iterator[Expr]:
        """Yield the parts that a variable can stand for, and that are long enough for one."""
        for node in nodes(self.root):
            if isinstance(node, Call) and node.function in ("matches", "find", "findAll"):
                pattern = node.args[-1]
                if isinstance(pattern, Literal) and len(str(pattern.value)) >= _LONG_PATTERN:
                    yield pattern
            plain = isinstance(node, Literal) or qualified_name(node) is not None
            if not plain and _is_closed(node) and len(unparse(node)) >= _LONG:
                yield node

    def span(self, node: Expr) -> tuple[int, int] | None:
        """Return the place of a part; None if it is not in the source."""
        places = [self.at.get(each.pos) for each in nodes(node)]
        known = [each for each in places if each is not None]
        if len(known) < len(places):
            return None
        first, last = min(known), max(known)
        texts = [each.text for each in self.tokens]
        if texts[last] in (".", "-"):
            last += 1
        depth, lowest = 0, 0
        for text in texts[first : last + 1]:
            depth += (text in _OPENING) - (text in _CLOSING)
            lowest = min(lowest, depth)
        while lowest < 0 and first > 0:  # begins in parentheses
            first -= 1
            lowest += (texts[first] in _OPENING) - (texts[first] in _CLOSING)
        if texts[first] == "(" and first > 0 and texts[first - 1].isidentifier():
            first -= 1  # a function of one name
        depth = sum((t in _OPENING) - (t in _CLOSING) for t in texts[first : last + 1])
        while depth > 0 and last + 1 < len(texts):
            last += 1
            depth += (texts[last] in _OPENING) - (texts[last] in _CLOSING)
        end = self.tokens[last]
        return self.tokens[first].pos, end.pos + len(end.text)

"""The values that a mutation writes for every request, read from its source. Compares nothing.

Supported are literal lists of ``JSONPatch{...}``, ``Object{...}`` and overlay trees. Everything
that depends on the request (conditions, ``test`` operations, ``${...}``, marks in parentheses) is
omitted, and so are list items addressed by index. ``(name): "*"`` means all items.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from policyd._core.schema.types import Relation, SchemaType
from policyd.cel.syntax.ast import Call, Expr, Ident, ListExpr, Literal, MapExpr, StructExpr
from policyd.cel.syntax.parser import parse
from policyd.cel.types.types import LIST_OF_JSONPATCH, OBJECT
from policyd.errors import CelSyntaxError
from policyd.mutation import MutationKind
from policyd.mutation.overlays.directives import DIRECTIVE, REPLACE, directive_of
from policyd.mutation.overlays.tree import expressions_in, global_conditions
from policyd.pattern.marks import Mark, split_if_known

WrittenPlace = tuple[str, ...]
UNKNOWN = object()
_KEY = "name"  # the key of most keyed lists
_OF_ALL = f"({_KEY})"
ALL = "[*]"  # the end of a step: all items of a list


class Write(NamedTuple):
    """One place, and the JSON value written to it."""

    place: WrittenPlace
    value: Any
    removes: bool = False


def writes(
    kind: MutationKind, held: Mapping[str, Any], roots: Sequence[SchemaType] = ()
) -> Iterator[Write]:
    """Yield the constant writes of one mutation; ``held`` is the value of the field of its kind.

    ``roots`` are the types of the objects: they determine which lists an overlay replaces.
    """
    if kind.mutator is None:
        if not _conditional(held) and global_conditions(held) is None:
            yield from _of_overlay(held, (), roots)
        return
    try:
        tree = parse(held["expression"])
    except CelSyntaxError:
        return
    if OBJECT in kind.results:
        yield from _of_object(tree, ())
    elif LIST_OF_JSONPATCH in kind.results and isinstance(tree, ListExpr) and not tree.optional:
        yield from _of_patch(tree.elements)


def _of_patch(operations: tuple[Expr, ...]) -> Iterator[Write]:
    fields = [fields_of(each) for each in operations]
    if any(constant(each.get("op")) not in ("add", "replace", "remove") for each in fields):
        return
    for each in fields:
        path = constant(each.get("path"))
        if not isinstance(path, str) or not path.startswith("/"):
            continue
        place = tuple(step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:])
        if any(step.isdigit() or step == "-" for step in place):
            continue
        if constant(each.get("op")) == "remove":
            yield Write(place, None, removes=True)
            continue
        value = constant(each.get("value"))
        if value is not UNKNOWN:
            yield Write(place, value)
            yield from _below(place, value)


def _below(place: WrittenPlace, value: Any) -> Iterator[Write]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield Write((*place, key), member)
            yield from _below((*place, key), member)


def _of_object(node: Expr, place: WrittenPlace) -> Iterator[Write]:
    """Yield the leaves of ``Object{...}``; its maps are merged key by key too."""
    if isinstance(node, StructExpr):
        for field in node.fields:
            if not field.optional:
                yield from _of_object(field.value, (*place, field.name))
    elif isinstance(node, MapExpr):
        for entry in node.entries:
            key = constant(entry.key)
            if isinstance(key, str) and not entry.optional:
                yield from _of_object(entry.value, (*place, key))
    elif isinstance(node, ListExpr):
        for item in node.elements:
            name = constant(fields_of(item).get(_KEY))
            if isinstance(name, str):
                yield from _of_object(item, (*place[:-1], f"{place[-1]}[{_KEY}={name}]"))
    else:
        value = constant(node)
        if value is not UNKNOWN:
            yield Write(place, value)


def _of_overlay(tree: Any, place: WrittenPlace, types: Sequence[SchemaType]) -> Iterator[Write]:
    if isinstance(tree, Mapping):
        for key, member in tree.items():
            if key != DIRECTIVE and split_if_known(key)[0] is Mark.NONE:
                below = [each.fields.get(key, each.extra) for each in types]
                known = [each.type for each in below if each is not None]
                yield from _of_overlay(member, (*place, str(key)), known)
    elif isinstance(tree, list):
        if _replaces(tree, types):
            items = [each for each in tree if not directive_of(each)]
            if not any(True for _ in expressions_in(items, ())):
                yield Write(place, items)
            return
        below = [each.item for each in types]
        known = [each.type for each in below if each is not None]
        for item in tree:
            step = _step(item)
            at = (*place[:-1], place[-1] + step)
            if step and DIRECTIVE in item:
                yield Write(at, None, removes=True)
            elif step:
                yield from _of_overlay(item, at, known)
    elif tree is None:
        yield Write(place, None, removes=True)
    elif not (isinstance(tree, str) and "${" in tree):
        yield Write(place, tree)


def _replaces(items: list[Any], types: Sequence[SchemaType]) -> bool:
    """Whether a list of an overlay replaces the one of the object, for all of the types."""
    for directive in filter(None, map(directive_of, items)):
        return directive == REPLACE
    atomic = [each.is_list and each.relation == Relation.ATOMIC for each in types]
    return bool(atomic) and all(atomic) and not any(map(_conditional, items))


def _step(item: Any) -> str:
    """Return which items of a list an item of an overlay is for; empty if that is unknown."""
    if not isinstance(item, Mapping):
        return ""
    name = item.get(_KEY)
    if name is None and item.get(_OF_ALL) in ("*", "?*"):
        item = {key: value for key, value in item.items() if key != _OF_ALL}
        return "" if _conditional(item) else ALL
    return f"[{_KEY}={name}]" if isinstance(name, str) and not _conditional(item) else ""


def _conditional(tree: Any) -> bool:
    """Whether a map has a condition; conditions in lists apply to their items only."""
    return isinstance(tree, Mapping) and any(
        split_if_known(key)[0] not in (Mark.NONE, Mark.ADD) or _conditional(member)
        for key, member in tree.items()
    )


def fields_of(node: Expr) -> dict[str, Expr]:
    """Return the fields of ``Type{...}`` that are not optional."""
    if not isinstance(node, StructExpr):
        return {}
    return {field.name: field.value for field in node.fields if not field.optional}


def constant(node: Expr | None) -> Any:
    """Return the JSON value of a constant expression; UNKNOWN for any other."""
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, ListExpr) and not node.optional:
        items = [constant(item) for item in node.elements]
        return UNKNOWN if any(item is UNKNOWN for item in items) else items
    if isinstance(node, MapExpr):
        pairs = [(constant(each.key), constant(each.value)) for each in node.entries]
        known = all(isinstance(key, str) and value is not UNKNOWN for key, value in pairs)
        return dict(pairs) if known else UNKNOWN
    if isinstance(node, StructExpr):
        members = {name: constant(value) for name, value in fields_of(node).items()}
        return members if UNKNOWN not in members.values() else UNKNOWN
    if isinstance(node, Call):
        return _called(node)
    return UNKNOWN


def _called(call: Call) -> Any:
    """Return the value of a concatenation of strings or of escapeKey; UNKNOWN for other calls."""
    values = [constant(each) for each in call.args]
    if not all(isinstance(value, str) for value in values):
        return UNKNOWN
    if call.function == "_+_":
        return values[0] + values[1]
    if call.function == "escapeKey" and isinstance(call.target, Ident):
        return values[0].replace("~", "~0").replace("/", "~1")
    return UNKNOWN

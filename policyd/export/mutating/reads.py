"""The names of the fields that expressions and overlays read."""

from collections.abc import Iterator

from policyd._core.schema.types import Field
from policyd.cel.syntax.ast import Call, Expr, ListExpr, Literal, MapExpr, Select, StructExpr
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import nodes
from policyd.export.mutating.overlays.reading import ExpressionSource, ReadOverlay, WrittenCondition
from policyd.export.mutating.overlays.values import member_of
from policyd.json_types import JSON, keys_in
from policyd.mutation.overlays.directives import APPEND, PREPEND
from policyd.mutation.overlays.tree import (
    List,
    Map,
    OverlayNode,
    Template,
)
from policyd.mutation.overlays.tree import conditions as conditions_of
from policyd.pattern.marks import split
from policyd.versions import KubernetesVersion

# Whole values are compared.
ALL = "*"
_KEYED = ("_[_]", "_[?_]", "_?._")
_COMPARED = ("_==_", "_!=_", "@in")


def read_by(text: str, version: KubernetesVersion) -> frozenset[str]:
    """Return the names of the fields that an expression may read; ALL if it compares maps."""
    return frozenset(name for node in nodes(parse(text, version)) for name in _read(node))


def _read(node: Expr) -> Iterator[str]:
    match node:
        case Select(field=field):
            yield field
        case Call(function=function, args=(_, Literal(value=str(key)))) if function in _KEYED:
            yield key
        case Call(function=function, args=args) if function in _COMPARED:
            if any(isinstance(each, MapExpr | StructExpr) for each in map(_single, args)):
                yield ALL


def _single(node: Expr) -> Expr:
    """Return the first element of a list, for a list of maps is compared as they are."""
    while isinstance(node, ListExpr) and node.elements:
        node = node.elements[0]
    return node


def read_by_overlay(
    overlay: ReadOverlay, root: Field, version: KubernetesVersion
) -> frozenset[str]:
    """Return the names of the fields that the conditions and expressions of an overlay read."""
    found = set()
    for _, guard in overlay.guards:
        assert isinstance(guard, WrittenCondition)
        found |= set(_names(guard.tree))
    return frozenset(found | set(_of_node(overlay, overlay.tree, root, version)))


def _of_node(
    overlay: ReadOverlay, node: OverlayNode, at: Field, version: KubernetesVersion
) -> Iterator[str]:
    if isinstance(node, Map):
        for _, condition in conditions_of(node):
            assert isinstance(condition, WrittenCondition)
            yield from _names(condition.tree)
        for member in node.members:
            if member.added:
                yield member.name
            yield from _of_node(overlay, member.node, member_of(at, member.name), version)
    elif isinstance(node, List):
        assert at.type.item is not None
        if node.directive in (APPEND, PREPEND):
            yield from at.type.item.type.fields
        for item in node.items:
            yield from _of_node(overlay, item, at.type.item, version)
    elif isinstance(node, Template):
        for part in overlay.parts(node):
            if isinstance(part, ExpressionSource):
                yield from read_by(part.text, version)


def _names(tree: JSON) -> Iterator[str]:
    """Yield the names of all keys of a condition."""
    return (split(key)[1] for key in keys_in(tree))

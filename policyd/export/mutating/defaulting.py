"""Defaults that the API server sets between two mutations, and policyd does not.

A mutation that runs after another mutation, or a second time, could see them. It is refused if it
reads a field that may get its default because of what is written before.
"""

from collections.abc import Iterator

from policyd._core.schema.types import Field
from policyd.cel.syntax.ast import Call, Expr, ListExpr, Literal, MapExpr, Select, StructExpr
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import nodes
from policyd.export.model import Reason, shown_path
from policyd.export.mutating.affected import Affected
from policyd.export.mutating.mutations import MutationTranslator
from policyd.export.mutating.overlays.reading import ExpressionSource, ReadOverlay, WrittenCondition
from policyd.export.mutating.overlays.values import member_of
from policyd.export.policy_views import ExportSource
from policyd.json_types import JSON, keys_in
from policyd.mutation.overlays.directives import APPEND, PREPEND
from policyd.mutation.overlays.tree import (
    List,
    Map,
    OverlayNode,
    Template,
)
from policyd.mutation.overlays.tree import conditions as conditions_of
from policyd.mutation.schemas.schemas import KindSchema
from policyd.pattern.marks import split
from policyd.policy.model.expressions import HeldMutation
from policyd.versions import KubernetesVersion

# Whole values are compared.
_ALL = "*"
_KEYED = ("_[_]", "_[?_]", "_?._")
_COMPARED = ("_==_", "_!=_", "@in")


def affected_by_defaults(source: ExportSource, translator: MutationTranslator) -> Iterator[Reason]:
    """Yield why a mutation may see a default that it does not see in policyd."""
    spec, version = source.spec, source.version
    again = spec.reinvocation_policy == "IfNeeded"
    mutations = translator.mutations
    if len(mutations) < 2 and not again:
        return
    shared = {name for each in spec.variables for name in _read_by(each.expression, version)}
    if again:
        for condition in spec.match_conditions:
            shared |= _read_by(condition.expression, version)
    for schema in translator.schemas:
        effects = [_effects(each, schema, translator, version) for each in mutations]
        written = set[str]().union(*(own for _, own in effects)) if again else set()
        for each, (read, own) in zip(mutations, effects, strict=True):
            seen = shared | read
            found = sorted(written if _ALL in seen else written & seen)
            if found:
                yield Reason(
                    shown_path(each.path),
                    "it runs after a mutation, when the API server has set the defaults of new "
                    f"fields, and may see the default of {found[0]}",
                )
            written |= own


def _effects(
    each: HeldMutation,
    schema: KindSchema,
    translator: MutationTranslator,
    version: KubernetesVersion,
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the fields that a mutation reads, and those that may get a default because of it."""
    found = Affected(schema, version)
    overlay = translator.overlays.get(each.index)
    if overlay is not None:
        found.overlay(overlay.tree, schema.root, existing=True)
        return _read_by_overlay(overlay, schema.root, version), found.result()
    text = each.held["expression"]
    found.expression(each.kind.patch_type, text)
    return _read_by(text, version), found.result()


def _read_by(text: str, version: KubernetesVersion) -> frozenset[str]:
    """Return the names of the fields that an expression may read; _ALL if it compares maps."""
    return frozenset(name for node in nodes(parse(text, version)) for name in _read(node))


def _read(node: Expr) -> Iterator[str]:
    match node:
        case Select(field=field):
            yield field
        case Call(function=function, args=(_, Literal(value=str(key)))) if function in _KEYED:
            yield key
        case Call(function=function, args=args) if function in _COMPARED:
            if any(isinstance(each, MapExpr | StructExpr) for each in map(_single, args)):
                yield _ALL


def _single(node: Expr) -> Expr:
    """Return the first element of a list, for a list of maps is compared as they are."""
    while isinstance(node, ListExpr) and node.elements:
        node = node.elements[0]
    return node


def _read_by_overlay(
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
                yield from _read_by(part.text, version)


def _names(tree: JSON) -> Iterator[str]:
    """Yield the names of all keys of a condition."""
    return (split(key)[1] for key in keys_in(tree))

"""The places that a mutation writes, as far as its text shows them. Evaluates nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from policyd.cel.syntax.ast import Expr, MapExpr, StructExpr
from policyd.cel.syntax.parser import parse
from policyd.errors import CelSyntaxError
from policyd.json_types import FieldPath
from policyd.mutation.overlays.directives import DIRECTIVE
from policyd.pattern.marks import Mark, split_if_known
from policyd.policy.kinds.subresources import ANY_STEP
from policyd.policy.lint.guards.forms import Place
from policyd.policy.lint.mutations.parents import operations
from policyd.policy.lint.mutations.paths import read_path
from policyd.policy.lint.mutations.results import items, results
from policyd.policy.lint.types.writes import constant, fields_of
from policyd.policy.model.expressions import HeldMutation
from policyd.policy.model.findings import FormProblem

_OWN = ("apiVersion", "kind")
_KEY = "name"  # of most keyed lists: it names the item


@dataclass(frozen=True, slots=True)
class MutatedPlace:
    """A place that a mutation writes, and where it does: an offset in the expression, or a path in
    the overlay.
    """

    place: Place
    at: int | FieldPath

    def finding(self, mutation: HeldMutation, rule: str, message: str, hint: str) -> FormProblem:
        """Return a problem of this write."""
        if isinstance(self.at, tuple):
            return FormProblem((*mutation.path, *self.at), message, hint, True, rule)
        path = (*mutation.path, "expression")
        return FormProblem(path, message, hint, rule=rule, pos=self.at)


def writes(mutation: HeldMutation) -> Iterator[MutatedPlace]:
    """Yield what a mutation writes."""
    if mutation.kind.mutator is None:
        yield from _of_overlay(mutation.held, (), ())
        return
    try:
        tree = parse(mutation.held["expression"])
    except CelSyntaxError:
        return  # reported when the expression is compiled
    if mutation.kind.merges:
        yield from _of_object(tree, ())
        return
    for node in operations(tree):
        given = fields_of(node)
        op = constant(given.get("op"))
        for name, writing in (("path", op != "test"), ("from", op == "move")):
            path = read_path(given[name]) if writing and name in given else None
            if path is not None:
                yield MutatedPlace(tuple(map(_step, path.steps)), given[name].pos)


def _step(step: str | Expr) -> str:
    index = not isinstance(step, str) or step == "-" or step.isdigit()
    return ANY_STEP if index else str(step)


def _of_object(node: Expr, place: Place) -> Iterator[MutatedPlace]:
    for each in results(node):
        listed = items(each)
        if isinstance(each, StructExpr) and each.fields:
            for field in each.fields:
                if not _is_identity(field.name, place):
                    yield from _of_object(field.value, (*place, field.name))
        elif isinstance(each, MapExpr) and each.entries:
            for entry in each.entries:
                key = constant(entry.key)
                step = key if isinstance(key, str) else ANY_STEP
                yield from _of_object(entry.value, (*place, step))
        elif listed:
            for item in listed:
                yield from _of_object(item, (*place, ANY_STEP))
        else:
            yield MutatedPlace(place, each.pos)


def _of_overlay(tree: Any, place: Place, path: FieldPath) -> Iterator[MutatedPlace]:
    if isinstance(tree, dict) and tree:
        for key, member in tree.items():
            mark, name = split_if_known(key)
            if mark in (Mark.NONE, Mark.ADD) and key != DIRECTIVE and not _is_identity(name, place):
                yield from _of_overlay(member, (*place, name), (*path, key))
    elif isinstance(tree, list) and tree:
        for index, item in enumerate(tree):
            yield from _of_overlay(item, (*place, ANY_STEP), (*path, index))
    else:
        yield MutatedPlace(place, path)


def _is_identity(name: str, place: Place) -> bool:
    """Whether a field identifies the object or the item of a list that is merged."""
    return name in _OWN if not place else name == _KEY and place[-1] == ANY_STEP

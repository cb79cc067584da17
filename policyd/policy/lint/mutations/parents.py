"""Find the parts of JSON Patch paths that some objects do not have: the parent of what is added, or
what is removed. Guards are known to the caller; this module reads paths and types.

A part is taken to be there if another operation of the policy writes it, or another mutation names
it: that is how most policies add a missing parent first.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from policyd.cel.syntax.ast import Call, Expr, StructExpr
from policyd.cel.syntax.recursion import nodes
from policyd.cel.types.types import Kind
from policyd.policy.lint.guards.forms import NOT_NULL, Place, Places
from policyd.policy.lint.mutations.operations import OPS
from policyd.policy.lint.mutations.paths import read_path, shown
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.lint.types.kinds import KindTypes
from policyd.policy.lint.types.writes import constant, fields_of

_ANY = "[*]"  # a computed step that is no known place
_LABELS: Place = ("object", "metadata", "labels")
_MOST_STEPS = 100  # kinds of Kubernetes have about twenty levels
_ADDING = frozenset(("add", "move", "copy"))  # what writes a new value

KeyOf = Callable[[Expr], str | None]


class MissingPart(NamedTuple):
    """A part of a path that may be missing; ``node`` is the path."""

    place: Place
    node: Expr
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class WrittenParts:
    """The values that the mutations of a policy write, so that later operations find them."""

    places: frozenset[Place]
    words: str

    @classmethod
    def of(cls, policy: LintedPolicy, trees: Sequence[Expr]) -> "WrittenParts":
        """Collect the paths of all operations, and the words of all other mutations."""
        places = {
            _normal(("object", *steps))
            for tree in trees
            for node in operations(tree)
            for steps in [_steps(fields_of(node).get("path"), lambda each: None)]
            if steps is not None and constant(fields_of(node).get("op")) != "remove"
        }
        if policy.model.spec.match_constraints.object_selector.match_labels:
            places.add(_LABELS)
        kinds = [(each.kind, each.held) for each in policy.mutations]
        others = [held for kind, held in kinds if kind.merges or kind.mutator is None]
        return cls(frozenset(places), json.dumps(others, default=str))

    def has(self, place: Place) -> bool:
        """Whether a mutation may have written this place before."""
        return _normal(place) in self.places or place[-1] in self.words


def operations(root: Expr) -> Iterator[StructExpr]:
    """Yield every ``JSONPatch{...}`` of an expression."""
    for node in nodes(root):
        if isinstance(node, StructExpr) and node.type_name == "JSONPatch":
            yield node


def missing_parts(
    node: StructExpr, types: KindTypes, key_of: KeyOf, there: Places, written: WrittenParts
) -> Iterator[MissingPart]:
    """Yield the outermost part of each path of an operation that some objects do not have."""
    given = fields_of(node)
    op = constant(given.get("op"))
    for name in ("path", "from"):
        if name not in given or op not in OPS:
            continue
        steps = _steps(given[name], key_of) or ()
        needed = name == "from" or op == "remove"
        for length in range(1, min(len(steps) + needed, _MOST_STEPS)):
            place: Place = ("object", *steps[:length])
            if written.has(place):
                continue
            index = place[-1].startswith("[") or place[-1] == "-" or place[-1].isdigit()
            if not index and types.may_lack(place) and not _is_there(place, there):
                adds = name == "path" and op in _ADDING
                yield _missing(given[name], op, (place, ("object", *steps)), types, adds=adds)
                break
            if length < len(steps) and types.may_be_null(place) and (*place, NOT_NULL) not in there:
                yield _null(given[name], op, place)
                break


def _steps(node: Expr | None, key_of: KeyOf) -> tuple[str, ...] | None:
    path = read_path(node) if node is not None else None
    if path is None or not path.rooted:
        return None
    plain = (
        step.args[0] if isinstance(step, Call) and step.function == "string" else step
        for step in path.steps
    )
    return tuple(step if isinstance(step, str) else key_of(step) or _ANY for step in plain)


def _normal(place: Place) -> Place:
    return tuple(_ANY if step.startswith("[") else step for step in place)


def _is_there(place: Place, there: Places) -> bool:
    """Whether a guard covers a place; below a computed step, any guard of a field of that name."""
    if place in there:
        return True
    computed = any(step.startswith("[") or step.isdigit() for step in place[:-1])
    return computed and any(guarded[-1] == place[-1] for guarded in there)


def _missing(
    node: Expr, op: str, places: tuple[Place, Place], types: KindTypes, *, adds: bool
) -> MissingPart:
    """Return the finding; ``places`` are the missing part and the whole path of the operation."""
    place, whole = places
    path = _path(place)
    if adds:
        hint = "write an Overlay, which adds it, or add it first"
        if _is_plain(place):
            empty = "[]" if types.type_at(place).kind is Kind.LIST else "{}"
            adding = f"JSONPatch{{op: 'add', path: '{path}', value: {empty}}}"
            hint = (
                f"write (has({'.'.join(place)}) ? [] : [{adding}]) + [JSONPatch{{…}}], or in a "
                "Policy an Overlay, which adds it"
            )
    elif types.type_at(whole[:-1]).kind is Kind.MAP and _is_plain(whole[:-1]):
        known = len(place) - 1  # what is there for certain
        above = ".".join((*whole[:known], *(f"?{step}" for step in whole[known:-1])))
        key = "KEY" if whole[-1].startswith("[") else f"'{whole[-1]}'"
        held = above if known == len(whole) - 1 else f"{above}.orValue({{}})"
        hint = f"write {key} in {held} ? [JSONPatch{{…}}] : []"
    else:
        guard = f"has({'.'.join(place)})" if _is_plain(place) else "a condition with has(…)"
        hint = f"write {guard} ? [JSONPatch{{…}}] : []"
    return MissingPart(place, node, f"{path} may be missing, and then {op} fails", hint)


def _null(node: Expr, op: str, place: Place) -> MissingPart:
    guard = f"{'.'.join(place)} != null" if _is_plain(place) else "a condition with != null"
    message = f"{_path(place)} may be null, and then {op} fails"
    hint = f"write {guard} ? [JSONPatch{{…}}] : [], or in a Policy an Overlay"
    return MissingPart(place, node, message, hint)


def _path(place: Place) -> str:
    return shown(tuple("…" if step.startswith("[") else step for step in place[1:]))


def _is_plain(place: Place) -> bool:
    """Whether a place can be written with dots."""
    return all(step.replace("_", "").isalnum() and not step.isdigit() for step in place)

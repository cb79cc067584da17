"""Read an overlay once: split the marks from the keys, compile ``${...}`` and turn conditions into
patterns. Knows no schemas or kinds.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from policyd._core.eval.program import Program
from policyd._core.json.sizes import is_deeper
from policyd._core.plan.overlay_run import OverlayExpression
from policyd.cel.types.types import Type
from policyd.json_types import FieldPath
from policyd.mutation.overlays.directives import (
    DIRECTIVE,
    directive_of,
    unknown_key,
    wrong_item,
    wrong_value,
)
from policyd.mutation.overlays.strings import Unclosed, pieces
from policyd.pattern.faults import Fault
from policyd.pattern.marks import Mark, UnknownMark, split, split_if_known

MAX_DEPTH = 100  # levels of an overlay; Kubernetes' own kinds have about twenty
_CONDITION = re.compile(r"\(.+\)")
# Kyverno's variables, which would be plain strings here; not braces of other templates.
_FOREIGN = re.compile(
    r"\{\{-?\s*(?:@|(?:request|element|elementIndex|images|target|serviceAccount\w*)\b)"
    r"|\$\((?:object|oldObject|request|params|variables)\b"
)
LITERAL = "a ${ that is no expression is written $${"
NO_EXPRESSION = "a condition is a pattern and holds no expression; matchConditions can use CEL"


class Condition(Protocol):
    """The conditions that the marks of a map express."""

    def holds(self, value: Any) -> bool:
        """Return whether a map fulfils them."""


class Compiler(Protocol):
    """Compile the parts of an overlay; the policy layer implements it."""

    def expression(self, text: str, start: int, end: int, path: FieldPath) -> Program | None:
        """Return the program of ``text[start:end]``; None (problem reported) on an error."""

    def pattern(self, tree: Mapping[str, Any], path: FieldPath) -> Condition | None:
        """Return the pattern of a map's conditions; None (problem reported) if invalid."""

    def guard(self, tree: Mapping[str, Any], path: FieldPath) -> Condition | None:
        """Return the conditions on the whole object, from the keys marked with <; else None."""


@dataclass(frozen=True, slots=True)
class OverlayLeaf:
    """A scalar."""

    value: Any
    path: FieldPath


@dataclass(frozen=True, slots=True)
class Template:
    """A string with expressions; ``type`` is the type of an expression that fills the string."""

    parts: tuple[str | OverlayExpression, ...]
    path: FieldPath
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A key of a map; ``added``: it has the mark +."""

    name: str
    node: "OverlayNode"
    path: FieldPath
    added: bool = False


@dataclass(frozen=True, slots=True)
class Map:
    """A map; ``condition`` comes from its own marks, ``deleted`` is ``$patch: delete``.

    ``empty``: it is written as ``{}``, which is added where there is no map.
    """

    members: tuple[Member, ...]
    path: FieldPath
    condition: Condition | None = None
    deleted: bool = False
    empty: bool = False


@dataclass(frozen=True, slots=True)
class List:
    """A list; ``directive`` is one of DIRECTIVES if an item is ``$patch: append`` or the like."""

    items: "tuple[OverlayNode, ...]"
    path: FieldPath
    directive: str = ""


@dataclass(frozen=True, slots=True)
class Nothing:
    """A list whose items are all conditions of the whole overlay, or an unreadable part."""

    path: FieldPath


OverlayNode = OverlayLeaf | Template | Map | List | Nothing


# Each with its path, relative to the map whose conditions are collected.
Conditions = list[tuple[tuple[str, ...], Condition]]


def conditions(node: OverlayNode, at: tuple[str, ...] = ()) -> Conditions:
    """Return the conditions of a map and its nested maps; list items keep their own."""
    if not isinstance(node, Map):
        return []
    found = [(at, node.condition)] if node.condition is not None else []
    for member in node.members:
        found += conditions(member.node, (*at, member.name))
    return found


def global_conditions(value: Any) -> Any:
    """Return the part of an overlay that is a condition of the whole: the keys marked with <, their
    parents, and the conditions beside them; else None.
    """
    if isinstance(value, list):
        items = [found for item in value if (found := global_conditions(item)) is not None]
        return items or None
    if not isinstance(value, dict):
        return None
    kept = {}
    for key, below in value.items():
        marked = key.startswith("<(") and key.endswith(")")
        found = below if marked else global_conditions(below)
        if marked or found is not None:
            kept[key] = found
    if not kept:
        return None
    return {key: value[key] for key in value if _CONDITION.fullmatch(key)} | kept


def _only_global(item: Any) -> bool:
    return isinstance(item, dict) and item != {} and global_conditions(item) == item


def too_deep(value: Any) -> bool:
    """Return whether an overlay has too many levels for recursive passes."""
    return is_deeper(value, MAX_DEPTH)


def expressions_in(value: Any, path: FieldPath) -> Iterator[tuple[FieldPath, str, int, int]]:
    """Yield the expressions that ``OverlayReader`` compiles: path, string, start and end offset
    within the string. Unreadable strings yield none.
    """
    if isinstance(value, dict):
        for key, below in value.items():
            if key != DIRECTIVE and split_if_known(key)[0] in (Mark.NONE, Mark.ADD):
                yield from expressions_in(below, (*path, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from expressions_in(below, (*path, index))
    elif isinstance(value, str) and "${" in value:
        try:
            found = pieces(value)
        except Unclosed:
            return
        for piece in found:
            if not isinstance(piece, str):
                yield path, value, *piece


def written_value(node: OverlayNode) -> Any:
    """Return the written value of a node without expressions."""
    if isinstance(node, Map):
        return {member.name: written_value(member.node) for member in node.members}
    if isinstance(node, List):
        return [written_value(item) for item in node.items]
    return node.value if isinstance(node, OverlayLeaf) else ""


@dataclass(slots=True)
class OverlayReader:
    """Reads one overlay. ``faults`` collects problems; ``count`` numbers the expressions."""

    compiler: Compiler
    faults: list[Fault] = field(default_factory=list)
    count: int = 0

    def read(self, value: Any, path: FieldPath) -> OverlayNode:
        if isinstance(value, dict):
            return self.read_map(value, path)
        if isinstance(value, list):
            return self._list(value, path)
        if isinstance(value, str):
            return self._text(value, path)
        return OverlayLeaf(value, path)

    def _list(self, value: list[Any], path: FieldPath) -> OverlayNode:
        items, directive = [], ""
        for index, item in enumerate(value):
            found = directive_of(item)
            if fault := wrong_item(item, (*path, index)):
                self.faults.append(fault)
            elif found and directive:
                message = f"a list has one {DIRECTIVE}, not two"
                self.faults.append(Fault((*path, index), message, "remove one of them"))
            elif found:
                directive = found
            else:
                node = self.read(item, (*path, index))
                if not _only_global(item):
                    items.append(node)
        if directive or items or not value:
            return List(tuple(items), path, directive)
        return Nothing(path)

    def read_map(self, value: dict[str, Any], path: FieldPath) -> Map:
        members: dict[str, Member] = {}
        pattern: dict[str, Any] = {}
        for key, below in value.items():
            at = (*path, key)
            try:
                mark, name = split(key)
            except UnknownMark as error:
                self.faults.append(Fault(at, str(error), error.hint, at_key=True))
                continue
            if fault := unknown_key(key, at):
                self.faults.append(fault)
            if key.startswith("$"):
                continue
            if mark in (Mark.NONE, Mark.ADD):
                node = self.read(below, at)
                if name in members:
                    hint = f"write {name} once"
                    self.faults.append(Fault(at, f'duplicate key "{name}"', hint, at_key=True))
                if mark is Mark.ADD:
                    self._no_conditions(node)
                members[name] = Member(name, node, at, added=mark is Mark.ADD)
            else:
                self._no_expressions(below, at)
                if mark is not Mark.GLOBAL:
                    pattern[key] = below
        condition = self.compiler.pattern(pattern, path) if pattern else None
        found = tuple(members.values())
        deleted = self._deleted(value, path)
        return Map(found, path, condition, deleted, empty=not value)

    def _deleted(self, value: dict[str, Any], path: FieldPath) -> bool:
        if DIRECTIVE not in value:
            return False
        if fault := wrong_value(value[DIRECTIVE], (*path, DIRECTIVE)):
            self.faults.append(fault)
        return fault is None

    def _no_conditions(self, node: OverlayNode) -> None:
        """Report conditions inside an added value, where there is no object to check."""
        if isinstance(node, Map):
            if node.condition is not None or node.deleted:
                message = "a condition inside of +(...) has nothing to look at"
                self.faults.append(Fault(node.path, message, "write it beside +(...)"))
            for member in node.members:
                self._no_conditions(member.node)
        elif isinstance(node, List):
            for item in node.items:
                self._no_conditions(item)

    def _no_expressions(self, value: Any, path: FieldPath) -> None:
        if isinstance(value, dict):
            for key, below in value.items():
                self._no_expressions(below, (*path, key))
        elif isinstance(value, list):
            for index, below in enumerate(value):
                self._no_expressions(below, (*path, index))
        elif isinstance(value, str) and "${" in value:
            self.faults.append(Fault(path, "an expression in a condition", NO_EXPRESSION))

    def _text(self, text: str, path: FieldPath) -> OverlayNode:
        if "${" not in text:
            if _FOREIGN.search(text):
                hint = "write CEL: ${request.namespace}, ${object.metadata.name}"
                what = "Kyverno's variables are" if "{{" in text else "$(…) is"
                self.faults.append(Fault(path, f"{what} not known here", hint))
            return OverlayLeaf(text, path)
        parts: list[str | OverlayExpression] = []
        types: list[Type] = []
        failed = False
        try:
            found = pieces(text)
        except Unclosed as unclosed:
            self.faults.append(Fault(path, "${ without a closing }", LITERAL, offset=unclosed.at))
            return Nothing(path)
        for piece in found:
            if isinstance(piece, str):
                parts.append(piece)
                continue
            program = self.compiler.expression(text, *piece, path)
            if program is None:
                failed = True
            else:
                parts.append(OverlayExpression(program, self.count))
                types.append(program.result_type)
                self.count += 1
        if failed:
            return Nothing(path)
        if not types:
            return OverlayLeaf("".join(part for part in parts if isinstance(part, str)), path)
        return Template(tuple(parts), path, types[0] if len(parts) == 1 else None)

"""Values of an overlay as CEL: constants as the API server stores them, and expressions with the
checks that policyd makes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from policyd._core.schema.decode import decode
from policyd._core.schema.types import Decoding, Field, Relation, Scalar
from policyd._core.values.overlay_json import without_nulls
from policyd.cel.types.types import Kind, is_optional
from policyd.export.expressions.literals import literal, string_literal
from policyd.export.mutating.overlays.optionals import may_hold_more_than_json
from policyd.export.mutating.overlays.reading import ExpressionSource, ReadOverlay, Unsayable
from policyd.json_types import JSON, FieldPath
from policyd.mutation.overlays.directives import APPEND, PREPEND
from policyd.mutation.overlays.tree import (
    List,
    Map,
    OverlayLeaf,
    OverlayNode,
    Template,
    written_value,
)

# Larger integers become strings on their way into the object.
_EXACT = 2**53 - 1
_PARAMS = re.compile(r"params((?:\.[A-Za-z_]\w*)+)")
_SIMPLE = re.compile(r"[A-Za-z_][\w.]*")
# Types that string() and the engine both accept.
_STRINGS = frozenset(
    (
        "string", "int", "uint", "double", "bool",
        "google.protobuf.Timestamp", "google.protobuf.Duration",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ComputedText:
    """A value of an expression. ``optional``: it may be none; ``null``: it may be null; ``map``: it
    is a map of strings, merged key by key. ``text`` is the whole expression, and ``value`` returns
    the value to write, given the name of the expression's result.
    """

    text: str
    optional: bool = False
    null: bool = False
    map: bool = False
    checked: str = "{}"

    def value(self, name: str) -> str:
        """Return the value to write, where the result of the expression is ``name``."""
        return self.checked.format(f"{name}.value()" if self.optional else name)

    @property
    def certain(self) -> bool:
        """Whether there always is a scalar, or a list, to write."""
        return not (self.optional or self.null or self.map)


class Values:
    """The values of one overlay.

    ``lenient``: a value that does not decode must be an error of the mutation, because
    failurePolicy is Ignore, and a JSON Patch cannot express that. ``wraps``: an integer that is too
    large becomes another value, as the API server does it in an ApplyConfiguration.
    """

    def __init__(
        self, overlay: ReadOverlay, *, native: bool, lenient: bool = False, wraps: bool = False
    ) -> None:
        self._overlay = overlay
        self.native = native
        self._lenient = lenient
        self._wraps = wraps

    def constant(self, node: OverlayNode, at: Field) -> JSON:
        """Return a value without expressions as the API server stores it: a scalar or a list."""
        value = written_value(node)
        if self.native:
            value = decode(value, None, at, convert=True)
        value = without_nulls(value)
        for each in _numbers(value):
            if isinstance(each, float) or abs(each) > _EXACT:
                raise Unsayable(node.path, f"the number {each} is not exact in a mutation")
        found: JSON = value
        return found

    def resolved(self, node: OverlayNode) -> OverlayNode:
        """Return a scalar of the inline ``params`` for an expression that is nothing else."""
        if isinstance(node, Template):
            known = self._param(node)
            if known is not None and not isinstance(known, dict | list):
                return OverlayLeaf(known, node.path)
        return node

    def _param(self, node: Template) -> JSON:
        """Return the inline parameter that an expression is; None if it is something else."""
        (first, *more) = self._overlay.parts(node)
        if more or isinstance(first, str):
            return None
        named = _PARAMS.fullmatch(first.text)
        found: JSON = self._overlay.document["spec"].get("params")
        if named is None:
            return None
        for key in named[1][1:].split("."):
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def computed(self, node: Template, at: Field) -> ComputedText:
        """Return the value of an expression for a field."""
        parts = self._overlay.parts(node)
        if len(parts) == 1 and isinstance(parts[0], ExpressionSource):
            return self._typed(parts[0], node.path, at)
        if at.type.scalar not in (Scalar.STRING, Scalar.UNTYPED):
            raise Unsayable(node.path, "a string for a field of this type")
        self._decodes(at, node.path)
        return ComputedText(" + ".join(self._text(part, node.path) for part in parts))

    def _typed(self, source: ExpressionSource, path: FieldPath, at: Field) -> ComputedText:
        given = source.program.result_type
        optional = is_optional(given)
        held = given.params[0] if optional else given
        text, kind = _spliced(source.text), at.type
        if held.name == "string" and kind.scalar in (Scalar.STRING, Scalar.UNTYPED):
            self._decodes(at, path)
            return ComputedText(text, optional)
        if held.name == "bool" and kind.scalar == Scalar.BOOLEAN:
            return ComputedText(text, optional)
        if held.name == "int" and kind.decoding == Decoding.INT32 and not self._wraps:
            self._decodes(at, path)
            return ComputedText(text, optional)
        if held.kind is Kind.DYN and not (kind.is_map or kind.is_list or self._is_open(source)):
            if kind.scalar == Scalar.STRING:
                self._decodes(at, path)
                return ComputedText(text, optional, null=True, checked="{} + ''")
            if kind.scalar == Scalar.BOOLEAN:
                return ComputedText(text, optional, null=True, checked="{} || false")
        if held.kind is Kind.MAP and held.params[1].name == "string" and _takes_strings(at):
            return ComputedText(text, optional, map=True)
        atomic = kind.is_list and kind.relation == Relation.ATOMIC and _is_string(kind.item)
        if held.kind is Kind.LIST and held.params[0].name == "string" and atomic:
            return ComputedText(text, optional)
        raise Unsayable(path, f"an expression of type {given.display()} for a field of this type")

    def _open_map(self, node: Template, at: Field) -> str | None:
        """Return the value of an expression that is a map, for a new map of strings; None if it is
        something else. A value that is no string is an error, and null is left out.
        """
        parts = self._overlay.parts(node)
        if len(parts) > 1 or not isinstance(parts[0], ExpressionSource):
            return None
        given = parts[0].program.result_type
        if given.kind is not Kind.MAP or not _takes_strings(at) or not at.omitted:
            return None
        if self._is_open(parts[0]):
            raise Unsayable(node.path, "a map of values whose types are not known")
        entry = "{name + '': each + ''}"
        return f"{_spliced(parts[0].text)}.transformMapEntry(name, each, each != null, {entry})"

    def _text(self, part: str | ExpressionSource, path: FieldPath) -> str:
        """Return a part of a string with expressions."""
        if isinstance(part, str):
            return string_literal(part)
        given, text = part.program.result_type, _spliced(part.text)
        if is_optional(given):
            given, text = given.params[0], f"{text}.value()"
        if given.name == "string":
            return text
        if given.name in _STRINGS:
            return f"string({text})"
        if given.kind is Kind.DYN and not self._is_open(part):
            return f"string({text})"
        raise Unsayable(path, f"the text of a value of type {given.display()}")

    def _is_open(self, source: ExpressionSource) -> bool:
        """Whether a value of type dyn may be something that JSON does not have, or an optional."""
        optional = is_optional(source.program.result_type)
        if may_hold_more_than_json(source.text, optional=optional):
            return True
        variables = self._overlay.document["spec"].get("variables") or ()
        return any(may_hold_more_than_json(str(each["expression"])) for each in variables)

    def _decodes(self, at: Field, path: FieldPath) -> None:
        """Refuse a value that may not decode, if that must not end the request."""
        plain = (Decoding.GO_STRING, Decoding.GO_BOOL, Decoding.ANYTHING, Decoding.INT64)
        if self._lenient and at.type.decoding not in plain:
            raise Unsayable(
                path,
                "a value that does not decode ends the request in the API server, whatever "
                "failurePolicy says",
            )

    def new(self, node: OverlayNode, at: Field) -> str | None:
        """Return the CEL of what a node makes where there is nothing; None if that is nothing."""
        node = self.resolved(node)
        if not has_templates(node):
            made = self._made(node, at)
            return None if made is _NOTHING else literal(made)
        if isinstance(node, Template):
            entries_of = self._open_map(node, at)
            if entries_of is not None:
                return entries_of
            found = self.computed(node, at)
            if not found.certain:
                raise Unsayable(node.path, "an expression that may have no value, in a new value")
            return found.value(found.text)
        if isinstance(node, Map):
            entries = []
            for member in node.members:
                value = self.new(member.node, member_of(at, member.name))
                if value is not None:
                    entries.append(f"{string_literal(member.name)}: dyn({value})")
            return f"{{{', '.join(entries)}}}" if entries else None
        assert isinstance(node, List)
        assert at.type.item is not None
        items = [self.new(each, at.type.item) for each in node.items]
        adds = node.directive == APPEND or (
            node.directive == PREPEND and at.type.relation == Relation.ATOMIC
        )
        if None in items or adds:
            raise Unsayable(node.path, "an item without a value, in a new list")
        return f"[{', '.join(f'dyn({each})' for each in items)}]"

    def _made(self, node: OverlayNode, at: Field) -> Any:
        """Return what a node without expressions makes where there is nothing."""
        if not creates(node):
            return _NOTHING
        if not isinstance(node, Map):
            return self.constant(node, at)
        made = {each.name: self._made(each.node, member_of(at, each.name)) for each in node.members}
        return {name: value for name, value in made.items() if value is not _NOTHING}


_NOTHING = object()


def member_of(at: Field, name: str) -> Field:
    """Return the field of a key of a map."""
    found = at.type.fields.get(name, at.type.extra)
    assert found is not None
    return found


def creates(node: OverlayNode) -> bool:
    """Return whether a node without expressions makes a value where there is nothing."""
    if isinstance(node, Map):
        return node.empty or any(creates(member.node) for member in node.members)
    return isinstance(node, List) or (isinstance(node, OverlayLeaf) and node.value is not None)


def _templates(node: OverlayNode) -> Iterator[Template]:
    if isinstance(node, Template):
        yield node
    elif isinstance(node, Map):
        for member in node.members:
            yield from _templates(member.node)
    elif isinstance(node, List):
        for item in node.items:
            yield from _templates(item)


def has_templates(node: OverlayNode) -> bool:
    """Return whether a node has expressions."""
    return next(_templates(node), None) is not None


def _spliced(text: str) -> str:
    """Return an expression as an operand of another expression."""
    if _SIMPLE.fullmatch(text):
        return text
    return f"({text}\n)" if "//" in text else f"({text})"


def _numbers(value: Any) -> Iterator[int | float]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from _numbers(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def _takes_strings(at: Field) -> bool:
    return at.type.is_map and not at.type.fields and _is_string(at.type.extra)


def _is_string(at: Field | None) -> bool:
    return (
        at is not None
        and at.type.decoding in (Decoding.GO_STRING, Decoding.ANYTHING)
        and (at.type.scalar == Scalar.STRING)
    )

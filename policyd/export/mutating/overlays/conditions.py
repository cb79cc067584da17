"""The conditions of an overlay as CEL: ``(key)``, ``=(key)``, ``X(key)``, ``^(key)``, ``<(key)``.

A condition holds or does not; patterns in which a part can be skipped are refused.
"""

from collections.abc import Iterable
from typing import Any

from policyd._core.pattern.strings import amount_of
from policyd._core.schema.types import Decoding, Field, SchemaType
from policyd.export.expressions.literals import string_literal
from policyd.export.expressions.selectors import fits, is_exact
from policyd.export.mutating.overlays.places import ObjectPlace, conjunction, disjunction, negation
from policyd.export.mutating.overlays.reading import Unsayable, WrittenCondition
from policyd.json_types import FieldPath
from policyd.mutation.overlays.tree import Conditions
from policyd.pattern.leaves import operation
from policyd.pattern.marks import Mark, split

_INTEGERS = (Decoding.INT32, Decoding.INT64)
_LISTED = (Mark.CONDITION, Mark.GLOBAL)


def holds(found: Conditions, place: ObjectPlace, at: Field) -> str:
    """Return that all conditions hold in the map at ``place``; "" if there are none."""
    parts = []
    for path, condition in found:
        assert isinstance(condition, WrittenCondition)
        here, below = place, at
        for key in path:
            here, below = here.below(key), _member(below, key, condition.path)
        if condition.whole:
            parts.append(_whole(condition.tree, here, below, condition.path))
        else:
            entries = (
                _entry(key, value, here, below, (*condition.path, key))
                for key, value in condition.tree.items()
            )
            parts.append(conjunction(*entries))
    return conjunction(*parts)


def fields_read(found: Conditions) -> Iterable[tuple[str, ...]]:
    """Yield the fields that conditions read; a key with wildcards is cut off."""
    for path, condition in found:
        assert isinstance(condition, WrittenCondition)
        for key in condition.tree:
            name = split(key)[1]
            yield path if not is_exact(name) or condition.whole else (*path, name)


def _whole(tree: Any, place: ObjectPlace, at: Field, path: FieldPath) -> str:
    """Return that the conditions marked with ``<`` hold: in lists, for one item at least."""
    if isinstance(tree, list):
        item, loop = place.each(at)
        inner = [_whole(each, item, _item(at), (*path, i)) for i, each in enumerate(tree)]
        return f"{loop.items}.exists({item.base}, {disjunction(*inner)})"
    parts = []
    for key, value in tree.items():
        mark, name = split(key)
        below = (*path, key)
        if mark in _LISTED:
            parts.append(_entry(key, value, place, at, below))
        else:
            if not is_exact(name):
                raise Unsayable(below, "a key with wildcards above <(key)")
            parts.append(_whole(value, place.below(name), _member(at, name, below), below))
    return conjunction(*parts)


def _entry(
    key: str,
    value: Any,
    place: ObjectPlace,
    at: Field,
    path: FieldPath,
    *,
    below: bool | None = None,
) -> str:
    """Return that one key of a pattern holds in the map at ``place``. ``below``: whether it is
    inside a condition; None for the keys of the outermost map.
    """
    mark, name = split(key)
    if not is_exact(name):
        raise Unsayable(path, "a condition on all keys of a form")
    here, field = place.below(name), _member(at, name, path)
    if mark is Mark.ABSENT:
        return here.unset()
    if mark in _LISTED and below is not None:
        raise Unsayable(path, "a condition inside a condition")
    if mark is Mark.EXISTS:
        return conjunction(here.set(), *(_one(each, here, field, path) for each in value))
    found = check(value, here, field, path, mark in _LISTED if below is None else below)
    if mark is Mark.IF_PRESENT:
        return f"{here.unset()} || ({found})"
    if value is None:
        return found
    return conjunction(here.set(), found)


def check(value: Any, place: ObjectPlace, at: Field, path: FieldPath, below: bool) -> str:
    """Return that the value at a place, which is there, fits a pattern. ``below``: the pattern is
    inside a condition, which an empty list does not fulfil.
    """
    kind = at.type
    if isinstance(value, dict):
        if not kind.is_map or not place.native:
            raise Unsayable(path, "the schema does not say that this is a map")
        parts = [
            _entry(key, each, place, at, (*path, key), below=below) for key, each in value.items()
        ]
        return conjunction(*parts) or "true"
    if isinstance(value, list):
        return _items(value, place, at, path, below)
    if value is None:
        return _empty(place, at, path)
    if kind.is_list and value not in ("*", "?*"):
        assert kind.item is not None
        item, loop = place.each(at)
        return f"{loop.items}.all({item.base}, {_scalar(value, item.base, kind.item, path)})"
    return _scalar(value, place.value(), at, path)


def _one(value: Any, place: ObjectPlace, at: Field, path: FieldPath) -> str:
    item, loop = place.each(at)
    return f"{loop.items}.exists({item.base}, {check(value, item, _item(at), path, True)})"


def _items(value: list[Any], place: ObjectPlace, at: Field, path: FieldPath, below: bool) -> str:
    if not at.type.is_list:
        raise Unsayable(path, "the schema does not say that this is a list")
    if not value:
        return f"{place.value()}.size() == 0"
    item, loop = place.each(at)
    parts = [check(each, item, _item(at), (*path, i), below) for i, each in enumerate(value)]
    found = f"{loop.items}.all({item.base}, {disjunction(*parts)})"
    return conjunction(f"{place.value()}.size() > 0", found) if below else found


def _empty(place: ObjectPlace, at: Field, path: FieldPath) -> str:
    """Return that a field is absent or a zero value: the pattern null."""
    zero = {Decoding.GO_STRING: "''", Decoding.GO_BOOL: "false"}
    zero |= dict.fromkeys(_INTEGERS, "0")
    if at.type.is_map or at.type.is_list:
        return place.unset()
    if at.type.decoding not in zero:
        raise Unsayable(path, "null as the pattern of a value of this type")
    return f"{place.unset()} || {place.value()} == {zero[at.type.decoding]}"


def _scalar(value: Any, text: str, at: Field, path: FieldPath) -> str:
    """Return that a value that is there fits a leaf of a pattern."""
    kind: SchemaType = at.type
    if value == "*":
        return "true"
    if value == "?*":
        if kind.decoding == Decoding.GO_STRING:
            return f"{text} != ''"
        if kind.is_map or kind.is_list:
            return f"{text}.size() > 0"
        if kind.decoding in (*_INTEGERS, Decoding.GO_BOOL):
            return "true"
    elif isinstance(value, bool):
        if kind.decoding == Decoding.GO_BOOL:
            return f"{text} == {str(value).lower()}"
    elif isinstance(value, int):
        if kind.decoding in _INTEGERS:
            return f"{text} == {value}"
    elif isinstance(value, str) and kind.decoding == Decoding.GO_STRING:
        return _string(value, text, path)
    elif isinstance(value, str) and kind.decoding in _INTEGERS:
        return _alternatives(value, path, lambda term: _integer(term, text, path))
    raise Unsayable(path, f"the pattern {value!r} of a value of this type")


def _string(value: str, text: str, path: FieldPath) -> str:
    if not value.strip():
        return f"{text} == {string_literal(value)}"
    found = _alternatives(value, path, lambda term: _term(term, text, path))
    if value == value.strip() and not any(each in value for each in "|&") and value[0] not in "!<>":
        return found
    return f"{text} == {string_literal(value)} || {found}"


def _alternatives(value: str, path: FieldPath, term: Any) -> str:
    return disjunction(
        *(
            conjunction(*(term(each.strip()) for each in part.split("&")))
            for part in value.split("|")
        )
    )


def _term(term: str, text: str, path: FieldPath) -> str:
    operator, operand = operation(term)
    if operator not in ("", "!") or amount_of(operand) is not None or _is_range(operand):
        raise Unsayable(path, f"{term!r} compares quantities or durations")
    found = fits(operand, text)
    if operator == "!":
        return f"{text} != {string_literal(operand)}" if is_exact(operand) else negation(found)
    return found


def _integer(term: str, text: str, path: FieldPath) -> str:
    operator, operand = operation(term)
    if not operand.removeprefix("-").isdecimal() or not operand.isascii() or len(operand) > 15:
        raise Unsayable(path, f"{term!r} as the pattern of a number")
    number = int(operand)
    return f"{text} {({'': '==', '!': '!='}).get(operator, operator)} {number}"


def _is_range(text: str) -> bool:
    return "-" in text and text[:1].isdecimal()


def _member(at: Field, name: str, path: FieldPath) -> Field:
    found = at.type.fields.get(name, at.type.extra)
    if found is None or not at.type.is_map:
        raise Unsayable(path, f"the schema has no field {name}")
    return found


def _item(at: Field) -> Field:
    assert at.type.item is not None
    return at.type.item

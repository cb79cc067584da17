"""Checks of plain values by type annotations, as strict as the API server: no value is converted,
and every fault is reported, not only the first.

A check appends the faults of a value, and returns the value as a model holds it: an empty one in
place of a wrong one. The paths of faults begin at the value; the caller of a check prepends the
path to it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from policyd.json_types import FieldPath

Item = TypeVar("Item")
# A JSON list; kept as a tuple because models are immutable.
Many = tuple[Item, ...]
Check = Callable[[object, "list[ShapeFault]"], Any]

# Kinds of faults. The first ones say which type is expected.
STRING, BOOLEAN, INTEGER, NUMBER = "string", "boolean", "integer", "number"
LIST, MAP, MODEL = "list", "map", "model"
CHOICE, UNKNOWN, MISSING, INVALID = "choice", "unknown", "missing", "invalid"


@dataclass(slots=True)
class ShapeFault:
    """A value at ``path`` that does not fit. ``detail``: the choices, or what is invalid."""

    path: FieldPath
    kind: str
    value: object
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Before:
    """The conversion of a value before it is checked; raises ValueError with what it must be.
    ``accepts`` is the type that editors show.
    """

    convert: Callable[[object], object]
    accepts: Any = None


def check_of(annotation: Any) -> Check:
    """Return the check of an annotation; raises TypeError for one that has none."""
    if annotation is Any:
        return _anything
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if isinstance(annotation, type) and hasattr(annotation, "checked"):
        found: Check = annotation.checked
        return found
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return _choice(arguments)
    if origin is Annotated:
        return _converted(arguments[1], check_of(arguments[0]))
    if origin is tuple:
        return _list(check_of(arguments[0]))
    if origin is dict:
        return _map(check_of(arguments[1]))
    if origin in (Union, UnionType) and NoneType in arguments and len(arguments) == 2:
        return _optional(check_of(next(each for each in arguments if each is not NoneType)))
    raise TypeError(f"no check for values of {annotation!r}")


def below(faults: list[ShapeFault], start: int, part: str | int) -> bool:
    """Prepend a field or an index to the paths of the faults since ``start``. Return whether one of
    them is about the whole value there.
    """
    whole = any(not fault.path for fault in faults[start:])
    for fault in faults[start:]:
        fault.path = (part, *fault.path)
    return whole


def inner_types(annotation: Any) -> Iterator[type]:
    """Yield the classes in an annotation: of ``Many[Rule] | None`` that is Rule."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        yield annotation
    for each in get_args(annotation):
        yield from inner_types(each)


def _anything(value: object, _: list[ShapeFault]) -> object:
    return value


def _of_type(wanted: type, kind: str, empty: object) -> Check:
    def check(value: object, faults: list[ShapeFault]) -> object:
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            faults.append(ShapeFault((), kind, value))
            return empty
        return value

    return check


def _number(value: object, faults: list[ShapeFault]) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    faults.append(ShapeFault((), NUMBER, value))
    return 0.0


_PLAIN: Mapping[Any, Check] = {
    str: _of_type(str, STRING, ""),
    bool: _of_type(bool, BOOLEAN, False),
    int: _of_type(int, INTEGER, 0),
    float: _number,
    date: _anything,  # what a value is converted to before
    datetime: _anything,
}


def _choice(choices: tuple[str, ...]) -> Check:
    named = ", ".join(f'"{each}"' for each in choices)

    def check(value: object, faults: list[ShapeFault]) -> object:
        if not isinstance(value, str) or value not in choices:
            faults.append(ShapeFault((), CHOICE, value, named))
            return ""
        return value

    return check


def _optional(inner: Check) -> Check:
    def check(value: object, faults: list[ShapeFault]) -> object:
        return None if value is None else inner(value, faults)

    return check


def _converted(before: Before, inner: Check) -> Check:
    def check(value: object, faults: list[ShapeFault]) -> object:
        try:
            converted = before.convert(value)
        except ValueError as error:
            faults.append(ShapeFault((), INVALID, value, str(error)))
            return ""
        return inner(converted, faults)

    return check


def _list(item: Check) -> Check:
    def check(value: object, faults: list[ShapeFault]) -> object:
        if not isinstance(value, list | tuple):
            faults.append(ShapeFault((), LIST, value))
            return ()
        found = []
        for index, each in enumerate(value):
            start = len(faults)
            found.append(item(each, faults))
            if len(faults) > start:
                below(faults, start, index)
        return tuple(found)

    return check


def _map(item: Check) -> Check:
    def check(value: object, faults: list[ShapeFault]) -> object:
        if not isinstance(value, dict):
            faults.append(ShapeFault((), MAP, value))
            return {}
        if item is _anything:
            return value
        found = {}
        for key, each in value.items():
            start = len(faults)
            value = item(each, faults)
            if len(faults) == start or not below(faults, start, key):
                found[key] = value
        return found

    return check

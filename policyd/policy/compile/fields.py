"""Find the field of the object that an expression is about, for the causes of a denial. Evaluates
nothing.

It is the path that everything which the expression reads of ``object`` and ``oldObject`` has in
common: ``object.spec.containers.all(c, has(c.image))`` is about ``spec.containers``. An expression
that reads unrelated fields, the whole object or nothing of it is about no field in particular.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from policyd.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)

_OBJECTS = ("object", "oldObject")
_Steps = tuple[str, ...]
# Keys of nested maps.
KeyPath = tuple[str, ...]


class ReadFields(NamedTuple):
    """The paths that an expression reads. ``exact``: its value is the field at the only path."""

    paths: frozenset[_Steps]
    exact: bool = False

    @property
    def field(self) -> str:
        """The path that all have in common; empty if there is none."""
        first, *others = self.paths or {()}
        for other in others:
            same = zip(first, other, strict=False)
            first = first[: next((i for i, (a, b) in enumerate(same) if a != b), len(other))]
        return "".join(first).removeprefix(".")


_NONE = ReadFields(frozenset())
_ROOT = ReadFields(frozenset({()}), exact=True)


def read_fields(expr: Expr, variables: Mapping[str, ReadFields]) -> ReadFields:
    """Return what an expression reads; ``variables`` are those of the policy that it can see."""
    names: dict[str, ReadFields] = dict.fromkeys(_OBJECTS, _ROOT)
    return _Reader(variables).read(expr, names)


def read_of(name: str, expr: Expr) -> frozenset[KeyPath]:
    """Return what an expression reads of the root ``name``: all below these paths of keys, and
    nothing else.
    """
    read = _Reader({}).read(expr, {name: _ROOT})
    return frozenset(tuple(_keys(path)) for path in read.paths)


def _keys(path: _Steps) -> Iterator[str]:
    """Yield the keys of a path up to the first index; a key that looks like one ends it, too."""
    for step in path:
        key = step[1:] if step.startswith(".") else step[1:-1]
        if not step.startswith(".") and key.lstrip("-").isdigit():
            return
        yield key


class _Reader:
    def __init__(self, variables: Mapping[str, ReadFields]) -> None:
        self._variables = variables

    def read(self, expr: Expr, names: Mapping[str, ReadFields]) -> ReadFields:
        """Return what ``expr`` reads; ``names`` are the identifiers that stand for a field."""
        match expr:
            case Ident(name=name):
                return names.get(name, _NONE)
            case Select(operand=Ident(name="variables"), field=field) if "variables" not in names:
                return self._variables.get(field, _NONE)
            case Select(operand=operand, field=field):
                return _below(self.read(operand, names), field)
            case Call(function="_?._", args=(operand, Literal(value=str(field)))):
                return _below(self.read(operand, names), field)
            case Call(
                function="_[_]" | "_[?_]", args=(operand, Literal(value=str() | int() as key))
            ):
                return _below(self.read(operand, names), key)
            case Comprehension():
                return self._folded(expr, names)
        return _together(self.read(each, names) for each in _parts(expr))

    def _folded(self, fold: Comprehension, names: Mapping[str, ReadFields]) -> ReadFields:
        """Read a macro: its variables stand for an item, whose index is not known."""
        whole = self.read(fold.iter_range, names)
        item = ReadFields(whole.paths)
        inner = {**names, fold.iter_var: item, fold.iter_var2: item, fold.accu_var: _NONE}
        parts = (fold.accu_init, fold.loop_condition, fold.loop_step, fold.result)
        return _together((whole, *(self.read(each, inner) for each in parts)))


def _below(read: ReadFields, key: str | int) -> ReadFields:
    if not read.exact:
        return read
    (path,) = read.paths
    if isinstance(key, str):
        plain = key.isascii() and key.replace("_", "a").isalnum()
        step = f".{key}" if plain else f"[{key}]"
    else:
        step = f"[{key}]"
    return ReadFields(frozenset({(*path, step)}), exact=True)


def _together(parts: Iterator[ReadFields] | tuple[ReadFields, ...]) -> ReadFields:
    return ReadFields(frozenset[_Steps]().union(*(each.paths for each in parts)))


def _parts(expr: Expr) -> Iterator[Expr]:
    match expr:
        case Call(target=target, args=args):
            if target is not None:
                yield target
            yield from args
        case ListExpr(elements=elements):
            yield from elements
        case MapExpr(entries=entries):
            for entry in entries:
                yield entry.key
                yield entry.value
        case StructExpr(fields=fields):
            for field in fields:
                yield field.value

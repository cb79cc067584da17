"""Find the field of the object that an expression is about, for the causes of a denial. Evaluates
nothing.

It is the path that everything which the expression reads of ``object`` and ``oldObject`` has in
common: ``object.spec.containers.all(c, has(c.image))`` is about ``spec.containers``. An expression
that reads unrelated fields, the whole object or nothing of it is about no field in particular.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policyd.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    Literal,
    Select,
)
from policyd.cel.syntax.recursion import children

_OBJECTS = ("object", "oldObject")
_Steps = tuple[str, ...]
# Keys of nested maps.
KeyPath = tuple[str, ...]


@dataclass(frozen=True)
class ReadFields:
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
_ROOT = ReadFields(frozenset({()}), True)


def read_fields(expr: Expr, variables: Mapping[str, ReadFields]) -> ReadFields:
    """Return what an expression reads; ``variables`` are those of the policy that it can see."""
    return _Reader(dict.fromkeys(_OBJECTS, _ROOT), variables).read_all(expr)


def read_of(name: str, expr: Expr) -> frozenset[KeyPath]:
    """Return what an expression reads of the root ``name``: all below these paths of keys, and
    nothing else.
    """
    read = _Reader({name: _ROOT}, {}).read_all(expr)
    return frozenset(tuple(_keys(path)) for path in read.paths)


def _keys(path: _Steps) -> Iterator[str]:
    """Yield the keys of a path up to the first index; a key that looks like one ends it, too."""
    for step in path:
        key = step[1:] if step.startswith(".") else step[1:-1]
        if not step.startswith(".") and key.lstrip("-").isdigit():
            return
        yield key


class _Reader:
    def __init__(self, roots: dict[str, ReadFields], variables: Mapping[str, ReadFields]) -> None:
        self._roots = roots
        self._variables = variables

    def read_all(self, expr: Expr) -> ReadFields:
        """Return what an expression reads that is in no macro."""
        return self.read(expr, self._roots)

    def read(self, expr: Expr, names: dict[str, ReadFields]) -> ReadFields:
        """Return what ``expr`` reads; ``names`` are the identifiers that stand for a field."""
        if isinstance(expr, Ident):
            if expr.name.startswith("."):  # whatever a macro hides
                return self._roots.get(expr.name[1:], _NONE)
            return names.get(expr.name, _NONE)
        if isinstance(expr, Literal):
            return _NONE
        if isinstance(expr, Select):
            operand = expr.operand
            name = operand.name if isinstance(operand, Ident) else ""
            if name == ".variables" or (name == "variables" and name not in names):
                return self._variables.get(expr.field, _NONE)
            return _below(self.read(operand, names), expr.field)
        if isinstance(expr, Comprehension):
            return self._folded(expr, names)
        if isinstance(expr, Call) and len(expr.args) == 2 and expr.function in _ACCESS:
            index = expr.args[1]
            key = index.value if isinstance(index, Literal) else None
            if isinstance(key, str) or (isinstance(key, int) and expr.function != "_?._"):
                return _below(self.read(expr.args[0], names), key)
        return self._all(children(expr), names)

    def _all(self, parts: tuple[Expr, ...], names: dict[str, ReadFields]) -> ReadFields:
        """Return what several expressions read."""
        paths = _NONE.paths
        for each in parts:
            found = self.read(each, names).paths
            if found and found is not paths:
                paths = paths | found if paths else found
        return ReadFields(paths) if paths else _NONE

    def _folded(self, fold: Comprehension, names: dict[str, ReadFields]) -> ReadFields:
        """Read a macro: its variables stand for an item, whose index is not known."""
        whole = self.read(fold.iter_range, names).paths
        item = ReadFields(whole)
        inner = {**names, fold.iter_var: item, fold.iter_var2: item, fold.accu_var: _NONE}
        parts = (fold.accu_init, fold.loop_condition, fold.loop_step, fold.result)
        return ReadFields(whole | self._all(parts, inner).paths)


# Calls that read a field.
_ACCESS = frozenset(("_?._", "_[_]", "_[?_]"))


def _below(read: ReadFields, key: str | int) -> ReadFields:
    if not read.exact:
        return read
    (path,) = read.paths
    step = f"[{key}]"
    if isinstance(key, str) and key.isascii() and key.replace("_", "a").isalnum():
        step = f".{key}"
    return ReadFields(frozenset(((*path, step),)), True)

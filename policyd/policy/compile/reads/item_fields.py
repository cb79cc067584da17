"""Find which fields of the objects of its reads a policy uses, so that no others are kept, and
which indexes it only reads by key.

The use of such an object in an expression is followed through indexes, optionals, macros and the
policy's variables. Where it is not followed further, all below the field counts as used.
Evaluates nothing.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from policyd.cel.syntax.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, Select
from policyd.cel.syntax.recursion import children
from policyd.policy.compile.fields import KeyPath


class Followed(NamedTuple):
    """A value that is known to be a part of a read: in ``depth`` collections (2: an index, 1: a
    list, 0: an object or its field at ``path``).
    """

    read: str
    depth: int
    path: KeyPath = ()


def names_beside_keys(expr: Expr) -> Iterator[str]:
    """Yield the names that an expression uses otherwise than to look up a key in their value."""
    parts = [expr]
    while parts:
        part = parts.pop()
        if isinstance(part, Ident):
            yield part.name.removeprefix(".")
            continue
        keyed = _looked_up(part)
        parts += [
            each for each in children(part) if not (each is keyed and isinstance(each, Ident))
        ]


def _looked_up(expr: Expr) -> Expr | None:
    """Return the part of an expression in which it looks up a key."""
    if isinstance(expr, Select):
        return expr.operand
    if isinstance(expr, Call) and expr.target is None:
        if expr.function in _ACCESS:
            return expr.args[0]
        if expr.function == "@in":
            return expr.args[1]
    return None


class ItemFields:
    """Collects the fields by the name of the read, ``reads.NAME``, or ``item`` for keys."""

    def __init__(self, depths: Mapping[str, int]) -> None:
        self._roots = {name: Followed(name, depth) for name, depth in depths.items()}
        self._roots[_VARIABLES.read] = _VARIABLES
        self._variables: dict[str, Followed] = {}
        self.used: dict[str, set[KeyPath]] = {name: set() for name in depths}

    def add(self, expr: Expr, variable: str = "") -> None:
        """Add what an expression uses; its value is kept as the value of a variable of the
        policy.
        """
        value = self._value(expr, self._roots)
        if value is None:
            return
        if variable:
            self._variables[variable] = value
        else:
            self._use(value)

    def _use(self, value: Followed | None) -> None:
        if value is None:
            return
        if value.read != _VARIABLES.read:
            self.used[value.read].add(value.path)
        else:  # a variable that is not known by its name
            for each in self._variables.values():
                self._use(each)

    def _value(self, expr: Expr, names: Mapping[str, Followed]) -> Followed | None:
        if isinstance(expr, Ident):
            if expr.name.startswith("."):  # whatever a macro hides
                return self._roots.get(expr.name[1:])
            return names.get(expr.name)
        if isinstance(expr, Literal):
            return None
        if isinstance(expr, Select):
            return self._selected(expr, names)
        if isinstance(expr, Comprehension):
            return self._folded(expr, names)
        if isinstance(expr, Call):
            return self._called(expr, names)
        if isinstance(expr, ListExpr) and len(expr.elements) == 1:
            value = self._value(expr.elements[0], names)
            if value is not None and not value.path:
                return value._replace(depth=value.depth + 1)
            self._use(value)
            return None
        for each in children(expr):
            self._use(self._value(each, names))
        return None

    def _selected(self, expr: Select, names: Mapping[str, Followed]) -> Followed | None:
        value = self._field(self._value(expr.operand, names), expr.field)
        if expr.test_only:
            self._use(value)
            return None
        return value

    def _field(self, value: Followed | None, key: object) -> Followed | None:
        """Return the value at a key, of any type if it is not a literal string."""
        if value is None:
            return None
        if value.depth:
            return value._replace(depth=value.depth - 1)
        if value == _VARIABLES and isinstance(key, str):
            return self._variables.get(key)
        if isinstance(key, str):
            return value._replace(path=(*value.path, key))
        self._use(value)
        return None

    def _called(self, expr: Call, names: Mapping[str, Followed]) -> Followed | None:
        parts = children(expr)
        values = [self._value(each, names) for each in parts]
        if expr.function in _ACCESS:
            self._use(values[1])
            key = parts[1]
            return self._field(values[0], key.value if isinstance(key, Literal) else None)
        if expr.function in _SAME:
            return self._one_of(values)
        first = values[0] if values else None
        if expr.function in _ENDS and first is not None and first.depth:
            return first._replace(depth=first.depth - 1)
        if expr.function == "@in" and values[1] is not None and values[1].depth == _INDEX:
            values = values[:1]
        if expr.function in _COUNTING and first is not None and (first.depth or not first.path):
            return None
        for value in values:
            self._use(value)
        return None

    def _one_of(self, values: list[Followed | None]) -> Followed | None:
        """Return the value that an expression has if it is one of several."""
        known = [each for each in values if each is not None]
        if all(each == known[0] for each in known):
            return known[0] if known else None
        for each in known:
            self._use(each)
        return None

    def _folded(self, fold: Comprehension, names: Mapping[str, Followed]) -> Followed | None:
        whole = self._value(fold.iter_range, names)
        inner = {
            name: value
            for name, value in names.items()
            if name not in (fold.iter_var, fold.iter_var2, fold.accu_var)
        }
        if whole is not None and whole.depth:
            item = whole._replace(depth=whole.depth - 1)
            # The first variable of two, and the one of an index, is a position or a key.
            variable = fold.iter_var2 or ("" if whole.depth == _INDEX else fold.iter_var)
            if variable:
                inner[variable] = item
        else:
            self._use(whole)
        result = self._value(fold.accu_init, names)
        for _ in range(2):  # the second time with what the first has made of the result
            if result is not None:
                inner[fold.accu_var] = result
            self._use(self._value(fold.loop_condition, inner))
            result = self._one_of([result, self._value(fold.loop_step, inner)])
        if result is not None:
            inner[fold.accu_var] = result
        return self._value(fold.result, inner)


_VARIABLES = Followed("variables", 0)
_INDEX = 2
_ACCESS = frozenset(("_[_]", "_[?_]", "_?._"))
# Calls whose value is one of their arguments, or has their elements.
_SAME = frozenset(("_?_:_", "_+_", "orValue", "or", "value", "optional.of", "reverse"))
_ENDS = frozenset(("first", "last"))
# Calls that need no field to see how many there are, or whether there is one.
_COUNTING = frozenset(("size", "hasValue"))

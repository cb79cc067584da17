"""Macros: expand calls in the parser, node for node as cel-go does, because cost is counted per
node.

Sources of the expansions: cel-go parser/macro.go, cel/library.go (optMap), ext/comprehensions.go,
ext/lists.go (sortBy). Every node that a macro creates has the place of the call's parenthesis.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

from policyd.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapEntry,
    MapExpr,
    Select,
    StructExpr,
    StructField,
)
from policyd.versions import SORT_BY, TWO_VARIABLE_MACROS, Feature, KubernetesVersion

ACCUMULATOR = "@result"
_UNUSED = "#unused"
_SORT_INPUT = "@__sortBy_input__"

# optMap copies its receiver, so a chain of n calls grows as 2**n, and each node costs the compiler
# 10 microseconds. This many nodes, and more in a long expression, are allowed in an expression with
# copies: seven calls in a row.
MAX_NODES = 1_000
NODES_A_CHARACTER = 10


def most_nodes(text: str) -> int:
    """Return how many nodes the expression may have if a macro copies a part of it."""
    return MAX_NODES + NODES_A_CHARACTER * len(text)


class MacroError(Exception):
    """A macro was called with invalid arguments; ``pos`` is the offset."""

    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.pos = pos
        self.message = message


class Factory:
    """Creates nodes at one place, with fresh ids from the tree's counter; copies none beyond
    ``most``.
    """

    def __init__(self, ids: "count[int]", pos: int, version: KubernetesVersion, most: int) -> None:
        self._ids = ids
        self._most = most
        self.pos = pos
        self.version = version

    def literal(self, value: object) -> Literal:
        return Literal(next(self._ids), self.pos, value)

    def ident(self, name: str) -> Ident:
        return Ident(next(self._ids), self.pos, name)

    def accumulator(self) -> Ident:
        return self.ident(ACCUMULATOR)

    def call(self, function: str, *args: Expr) -> Call:
        return Call(next(self._ids), self.pos, function, None, args)

    def member_call(self, function: str, target: Expr, *args: Expr) -> Call:
        return Call(next(self._ids), self.pos, function, target, args)

    def list(self, *elements: Expr) -> ListExpr:
        return ListExpr(next(self._ids), self.pos, elements)

    def map(self) -> MapExpr:
        return MapExpr(next(self._ids), self.pos, ())

    def presence(self, operand: Expr, field: str) -> Select:
        return Select(next(self._ids), self.pos, operand, field, test_only=True)

    def fold(self, over: Expr, names: "FoldVariables", parts: "Fold", macro: str) -> Comprehension:
        return Comprehension(
            next(self._ids), self.pos, over, names.first, names.second, names.accumulator,
            parts.init, parts.condition, parts.step, parts.result, macro,
        )  # fmt: skip

    def copy(self, node: Expr) -> Expr:
        """Copy a tree with fresh ids. Places stay, but entries and fields move to the macro, as in
        cel-go. Raises MacroError if the tree grows too large.
        """
        fresh = next(self._ids)
        if fresh > self._most:
            raise MacroError(self.pos, f"expression has more than {self._most:,} nodes")
        if isinstance(node, Literal):
            return Literal(fresh, node.pos, node.value)
        if isinstance(node, Ident):
            return Ident(fresh, node.pos, node.name)
        if isinstance(node, Select):
            operand = self.copy(node.operand)
            return Select(fresh, node.pos, operand, node.field, node.test_only)
        if isinstance(node, Call):
            target = None if node.target is None else self.copy(node.target)
            return Call(fresh, node.pos, node.function, target, self._copies(node.args))
        if isinstance(node, ListExpr):
            return ListExpr(fresh, node.pos, self._copies(node.elements), node.optional)
        if isinstance(node, MapExpr):
            entries = tuple([self._entry(entry) for entry in node.entries])
            return MapExpr(fresh, node.pos, entries)
        if isinstance(node, StructExpr):
            made = tuple([self._field(field) for field in node.fields])
            return StructExpr(fresh, node.pos, node.type_name, made)
        if isinstance(node, Comprehension):
            return self._fold(fresh, node)
        raise TypeError(f"no such node: {node!r}")

    def _copies(self, nodes: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([self.copy(node) for node in nodes])

    def _entry(self, entry: MapEntry) -> MapEntry:
        key, value = self.copy(entry.key), self.copy(entry.value)
        return MapEntry(next(self._ids), self.pos, key, value, entry.optional)

    def _field(self, field: StructField) -> StructField:
        value = self.copy(field.value)
        return StructField(next(self._ids), self.pos, field.name, value, field.optional)

    def _fold(self, fresh: int, node: Comprehension) -> Comprehension:
        over, init = self.copy(node.iter_range), self.copy(node.accu_init)
        condition, step = self.copy(node.loop_condition), self.copy(node.loop_step)
        return Comprehension(
            fresh, node.pos, over, node.iter_var, node.iter_var2, node.accu_var,
            init, condition, step, self.copy(node.result), node.macro,
        )  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False)
class FoldVariables:
    """The variables of a fold."""

    first: str
    second: str = ""
    accumulator: str = ACCUMULATOR


@dataclass(frozen=True, repr=False, eq=False)
class Fold:
    """The parts by which folds differ."""

    init: Expr
    condition: Expr
    step: Expr
    result: Expr


Expander = Callable[[Factory, Expr, Sequence[Expr]], Expr]


def expand(make: Factory, function: str, target: Expr | None, args: Sequence[Expr]) -> Expr | None:
    """Return the expansion of a call, or None if it is not a macro. Raises MacroError."""
    if target is None:
        return _has(make, args[0]) if function == "has" and len(args) == 1 else None
    form = function, len(args)
    expander = RECEIVER_MACROS.get(form)
    if expander is None or not known_macro(form, make.version):
        return None
    return expander(make, target, args)


def known_macro(form: tuple[str, int], version: KubernetesVersion) -> bool:
    """Return whether a version of Kubernetes has the macro with this name and argument count."""
    return form not in INTRODUCED or version.has(INTRODUCED[form])


def _has(make: Factory, arg: Expr) -> Expr:
    if not isinstance(arg, Select):
        raise MacroError(arg.pos, "invalid argument to has() macro")
    return make.presence(arg.operand, arg.field)


def _names(args: Sequence[Expr], message: str = "argument must be a simple name") -> FoldVariables:
    """Return the iteration variables named by the first one or two arguments."""
    names = []
    for arg in args:
        if not isinstance(arg, Ident):
            raise MacroError(arg.pos, message)
        names.append(arg.name)
    if len(set(names)) < len(names):
        raise MacroError(args[1].pos, f"duplicate variable name: {names[0]}")
    for arg, name in zip(args, names, strict=True):
        if name in (ACCUMULATOR, "__result__"):
            raise MacroError(arg.pos, "iteration variable overwrites accumulator variable")
    return FoldVariables(*names)


def _all(make: Factory, target: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:-1])
    parts = Fold(
        make.literal(True),
        make.call("@not_strictly_false", make.accumulator()),
        make.call("_&&_", make.accumulator(), args[-1]),
        make.accumulator(),
    )
    return make.fold(target, names, parts, "all")


def _exists(make: Factory, target: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:-1])
    parts = Fold(
        make.literal(False),
        make.call("@not_strictly_false", make.call("!_", make.accumulator())),
        make.call("_||_", make.accumulator(), args[-1]),
        make.accumulator(),
    )
    return make.fold(target, names, parts, "exists")


def _exists_one(make: Factory, target: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:-1])
    increment = make.call("_+_", make.accumulator(), make.literal(1))
    parts = Fold(
        make.literal(0),
        make.literal(True),
        make.call("_?_:_", args[-1], increment, make.accumulator()),
        make.call("_==_", make.accumulator(), make.literal(1)),
    )
    return make.fold(target, names, parts, "exists_one")


def _collect(make: Factory, init: Expr, step: Expr, condition: Expr | None) -> Fold:
    """Return a fold whose step adds to the accumulator if the condition holds."""
    if condition is not None:
        step = make.call("_?_:_", condition, step, make.accumulator())
    return Fold(init, make.literal(True), step, make.accumulator())


def _map(make: Factory, target: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:1], "argument is not an identifier")
    step = make.call("_+_", make.accumulator(), make.list(args[-1]))
    condition = args[1] if len(args) > 2 else None
    return make.fold(target, names, _collect(make, make.list(), step, condition), "map")


def _filter(make: Factory, target: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:1], "argument is not an identifier")
    step = make.call("_+_", make.accumulator(), make.list(args[0]))
    return make.fold(target, names, _collect(make, make.list(), step, args[1]), "filter")


def _transform_condition(args: Sequence[Expr]) -> Expr | None:
    return args[2] if len(args) > 3 else None


def _transform_list(make: Factory, target: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:2])
    step = make.call("_+_", make.accumulator(), make.list(args[-1]))
    parts = _collect(make, make.list(), step, _transform_condition(args))
    return make.fold(target, names, parts, "transformList")


def _transform_map(make: Factory, target: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:2])
    step = make.call("cel.@mapInsert", make.accumulator(), make.ident(names.first), args[-1])
    parts = _collect(make, make.map(), step, _transform_condition(args))
    return make.fold(target, names, parts, "transformMap")


def _transform_map_entry(make: Factory, target: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:2])
    step = make.call("cel.@mapInsert", make.accumulator(), args[-1])
    parts = _collect(make, make.map(), step, _transform_condition(args))
    return make.fold(target, names, parts, "transformMapEntry")


def _bind(make: Factory, name: str, value: Expr, body: Expr, macro: str) -> Comprehension:
    """Return a fold over an empty list whose accumulator is a variable of ``body``."""
    parts = Fold(value, make.literal(False), make.ident(name), body)
    return make.fold(make.list(), FoldVariables(_UNUSED, accumulator=name), parts, macro)


def _optional_map(make: Factory, target: Expr, args: Sequence[Expr], macro: str) -> Expr:
    variable, body = args
    if not isinstance(variable, Ident):
        raise MacroError(variable.pos, f"{macro}() variable name must be a simple identifier")
    value = make.member_call("value", make.copy(target))
    mapped: Expr = _bind(make, variable.name, value, body, macro)
    if macro == "optMap":
        mapped = make.call("optional.of", mapped)
    present = make.member_call("hasValue", target)
    return make.call("_?_:_", present, mapped, make.call("optional.none"))


def _sort_by(make: Factory, target: Expr, args: Sequence[Expr]) -> Expr:
    if not isinstance(target, ListExpr | Select | Ident | Comprehension | Call):
        raise MacroError(
            target.pos,
            "sortBy can only be applied to a list, identifier, comprehension, call or select "
            "expression",
        )
    keys = _map(make, make.ident(_SORT_INPUT), args)
    sort = make.member_call("@sortByAssociatedKeys", make.ident(_SORT_INPUT), keys)
    return _bind(make, _SORT_INPUT, target, sort, "sortBy")


# By name and argument count. Kubernetes does not have the one-variable existsOne.
RECEIVER_MACROS: dict[tuple[str, int], Expander] = {
    ("all", 2): _all,
    ("exists", 2): _exists,
    ("exists_one", 2): _exists_one,
    ("map", 2): _map,
    ("map", 3): _map,
    ("filter", 2): _filter,
    ("all", 3): _all,
    ("exists", 3): _exists,
    ("exists_one", 3): _exists_one,
    ("existsOne", 3): _exists_one,
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_map_entry,
    ("transformMapEntry", 4): _transform_map_entry,
    ("optMap", 2): partial(_optional_map, macro="optMap"),
    ("optFlatMap", 2): partial(_optional_map, macro="optFlatMap"),
    ("sortBy", 2): _sort_by,
}
MACRO_NAMES = ("has", *dict.fromkeys(name for name, _ in RECEIVER_MACROS))

# The features that introduced macros; all others are older than 1.30.
INTRODUCED: dict[tuple[str, int], Feature] = {
    **{form: TWO_VARIABLE_MACROS for form in RECEIVER_MACROS if form[1] > 2 and form[0] != "map"},
    ("sortBy", 2): SORT_BY,
}

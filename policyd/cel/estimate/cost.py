"""Estimate the cost of an expression before evaluation, as cel-go's checker does.

    estimate(checked)                                      # Range(min=1, max=18446744073709551615)
    estimate(checked, lambda path, kind: Range(0, 100))    # with sizes of unknown values

The cost rules of functions are in the tables of their libraries; this module has the rules of the
tree: the known size of each value and, for lists and maps, of their parts. Nothing is folded: a
literal list costs its 10 units, unlike in a planned program.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from policyd._core.eval.estimates import ONE, UNKNOWN, ZERO, Charge, Operand, Range, exactly
from policyd.cel.syntax.ast import (
    Call,
    Checked,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)
from policyd.cel.syntax.macros import ACCUMULATOR
from policyd.cel.syntax.recursion import children, deep_recursion
from policyd.cel.types.functions import functions
from policyd.cel.types.types import Kind, Type, is_optional

# ("object", "spec", "containers", "@items", "name"); empty for values outside variables.
SizePath = tuple[str, ...]
Sizes = Callable[[SizePath, Type], Range | None]

_MAKE_LIST, _MAKE_MAP, _MAKE_STRUCT = exactly(10), exactly(30), exactly(40)
_SCALARS = (
    "bool",
    "double",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "uint",
)
_WITH_FIELDS = (Kind.MAP, Kind.STRUCT, Kind.PARAM)
_JOINING = ("add_string", "add_bytes", "add_list")


def nothing_known(path: SizePath, kind: Type) -> Range | None:
    return None


def estimate(checked: Checked, sizes: Sizes = nothing_known, *, dyn_fields: bool = False) -> Range:
    """Return the minimum and maximum cost of an evaluation; a ``max`` of ``MOST`` is unbounded.

    ``sizes`` returns sizes that the expression does not determine. cel-go charges nothing for a
    selection from a dyn, which costs a unit at run time: ``dyn_fields`` counts it.
    """
    with deep_recursion():
        return _Estimator(checked, sizes, dyn_fields).cost(checked.expr)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The sizes of the keys (or indexes) and of the values in a list or a map."""

    is_list: bool
    key: Range
    value: Range

    def union(self, other: "_Parts | None") -> "_Parts | None":
        if other is None:
            return None
        return _Parts(self.is_list, self.key.union(other.key), self.value.union(other.value))


@dataclass(frozen=True, slots=True)
class _Local:
    """A variable of a macro."""

    path: SizePath
    size: Range | None
    parts: _Parts | None = None


@dataclass(slots=True)
class _Estimator:
    """One pass over one tree. Results are kept by node id."""

    checked: Checked
    sizes: Sizes
    dyn_fields: bool
    paths: dict[int, SizePath] = field(default_factory=dict)
    known: dict[int, Range] = field(default_factory=dict)
    parts: dict[int, _Parts] = field(default_factory=dict)
    locals: dict[str, _Local] = field(default_factory=dict)

    def cost(self, node: Expr) -> Range:
        match node:
            case Literal():
                return ZERO
            case Ident():
                local = self.locals.get(node.name)
                self.paths[node.id] = local.path if local else (node.name,)
                return ONE
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListExpr():
                return self._list(node)
            case MapExpr():
                return self._map(node)
            case StructExpr():
                return _MAKE_STRUCT.plus(self._sum(entry.value for entry in node.fields))
            case Comprehension():
                return self._binding(node) if _binds(node) else self._loop(node)
        raise TypeError(f"no such node: {node!r}")

    def _sum(self, nodes: Iterable[Expr]) -> Range:
        total = ZERO
        for node in nodes:
            total = total.plus(self.cost(node))
        return total

    # Known facts of a value

    def _type(self, node: Expr) -> Type:
        return self.checked.types[node.id]

    def _path(self, node: Expr) -> SizePath:
        return self.paths.get(node.id, ())

    def _known(self, node: Expr) -> Range | None:
        """Return the size of a value: from the expression, else from ``sizes`` or its type."""
        found = self.known.get(node.id) or _written(node)
        if found is not None:
            return found
        found = self.sizes(self._path(node), self._type(node))
        if found is not None:
            self.known[node.id] = found
            return found
        if _is_scalar(self._type(node)):
            return ONE
        local = self.locals.get(node.name) if isinstance(node, Ident) else None
        return local.size if local else None

    def _size(self, node: Expr) -> Range:
        return self._known(node) or UNKNOWN

    def _parts_of(self, node: Expr) -> _Parts | None:
        found = self.parts.get(node.id)
        if found is None and isinstance(node, Ident) and node.name in self.locals:
            return self.locals[node.name].parts
        return found

    def _keep(self, node: Expr, size: Range | None, parts: _Parts | None = None) -> None:
        if size is not None:
            self.known[node.id] = size
        if parts is not None:
            self.parts[node.id] = parts

    def _operand(self, node: Expr) -> Operand:
        kind = self._type(node)
        path = self._path(node)
        if path[:1] == (ACCUMULATOR,):
            path = ()
        part = None
        if kind.params:
            inner = kind.params[0]
            part = Operand(str(inner), self.sizes((*path, "@items") if path else (), inner))
        value = node.value if isinstance(node, Literal) else None
        number = value if isinstance(value, int) and not isinstance(value, bool) else None
        return Operand(str(kind), self._known(node), number, part)

    # Names, fields and literals

    def _select(self, node: Select) -> Range:
        cost = self.cost(node.operand)
        if node.test_only:  # has() is free in Kubernetes
            return cost
        self.paths[node.id] = (*self._path(node.operand), node.field)
        kind = self._type(node.operand).kind
        counts = kind in _WITH_FIELDS or (self.dyn_fields and kind is Kind.DYN)
        return cost.plus(ONE) if counts else cost

    def _list(self, node: ListExpr) -> Range:
        cost = self._sum(node.elements)
        self._keep(node, None, _Parts(True, ONE, self._union(node.elements)))
        return cost.plus(_MAKE_LIST)

    def _map(self, node: MapExpr) -> Range:
        cost = self._sum(children(node))
        keys = self._union(tuple(entry.key for entry in node.entries))
        values = self._union(tuple(entry.value for entry in node.entries))
        self._keep(node, None, _Parts(False, keys, values))
        return cost.plus(_MAKE_MAP)

    def _union(self, nodes: tuple[Expr, ...]) -> Range:
        if not nodes:
            return ZERO
        found = self._size(nodes[0])
        for node in nodes[1:]:
            found = found.union(self._size(node))
        return found

    # Calls

    def _call(self, node: Call) -> Range:
        if node.function == "dyn":
            cost = self.cost(node.args[0])
            self._keep(node, self._known(node.args[0]), self._parts_of(node.args[0]))
            return cost.plus(ONE)
        costs = [self.cost(arg) for arg in node.args]
        of_target = ZERO if node.target is None else self.cost(node.target)
        reference = self.checked.references.get(node.id)
        if reference is None or not reference.overload_ids:
            return ZERO
        total: Range | None = None
        size: Range | None = None
        for overload in reference.overload_ids:
            charge = self._charge(node, overload, costs)
            total = charge.cost if total is None else total.union(charge.cost)
            if charge.size is not None:
                size = charge.size if size is None else size.union(charge.size)
            if overload in ("index_list", "index_map"):
                size = self._indexed(node, overload)
            if size is None:
                size = self._known(node)
        self._keep(node, size)
        return of_target.plus(total or ZERO)

    def _indexed(self, node: Call, overload: str) -> Range | None:
        container = node.args[0]
        step = "@items" if overload == "index_list" else "@values"
        self.paths[node.id] = (*self._path(container), step)
        parts = self._parts_of(container)
        return parts.value if parts else None

    def _charge(self, node: Call, overload: str, costs: list[Range]) -> Charge:
        """Return the cost of a call and its arguments (not its target) for this overload."""
        if overload in ("logical_and", "logical_or"):
            return Charge(Range(costs[0].min, costs[0].plus(costs[1]).max))
        if overload == "conditional":
            return self._conditional(node, costs)
        before = ZERO
        for cost in costs:
            before = before.plus(cost)
        rule = functions(self.checked.version).by_id[overload].estimate
        if overload in _JOINING:
            left, right = map(self._parts_of, node.args)
            self._keep(node, None, left.union(right) if left else None)
        if rule is None:
            return Charge(before.plus(ONE))
        given = node.args if node.target is None else (node.target, *node.args)
        charge = rule(tuple(map(self._operand, given)))
        return Charge(charge.cost.plus(before), charge.size)

    def _conditional(self, node: Call, costs: list[Range]) -> Charge:
        condition, if_true, if_false = costs
        size = self._size(node.args[1]).union(self._size(node.args[2]))
        first, second = map(self._parts_of, node.args[1:])
        self._keep(node, None, first.union(second) if first else None)
        return Charge(condition.plus(if_true.union(if_false)), size)

    # Macros

    @contextmanager
    def _with(self, variables: Mapping[str, _Local]) -> Iterator[None]:
        before = self.locals
        self.locals = {**before, **variables}
        yield
        self.locals = before

    def _accumulator(self, node: Comprehension) -> dict[str, _Local]:
        start = node.accu_init
        local = _Local(self._path(start), self._known(start), self._parts_of(start))
        return {node.accu_var: local}

    def _binding(self, node: Comprehension) -> Range:
        cost = self.cost(node.iter_range).plus(self.cost(node.accu_init))
        with self._with(self._accumulator(node)):
            cost = cost.plus(self.cost(node.result))
            self._keep(node, self._known(node.result), self._parts_of(node.result))
        return cost

    def _loop(self, node: Comprehension) -> Range:
        cost = self.cost(node.iter_range).plus(self.cost(node.accu_init))
        with self._with(self._accumulator(node)):
            with self._with(self._iterated(node)):
                each = self.cost(node.loop_condition).plus(self.cost(node.loop_step))
                made = self._parts_of(node.loop_step)
            cost = cost.plus(self.cost(node.result))
        rounds = self._size(node.iter_range)
        if isinstance(node.accu_init, Literal):
            self._keep(node, self._known(node.accu_init))
        elif isinstance(node.accu_init, ListExpr | MapExpr):
            self._keep(node, rounds, made)
        return cost.plus(rounds.times(each))

    def _iterated(self, node: Comprehension) -> dict[str, _Local]:
        over = node.iter_range
        parts = self._parts_of(over)
        is_list = parts.is_list if parts else self._type(over).kind is Kind.LIST
        path = self._path(over)
        key = _Local((*path, "@indices" if is_list else "@keys"), parts.key if parts else None)
        value = _Local((*path, "@items" if is_list else "@values"), parts.value if parts else None)
        if node.iter_var2:
            return {node.iter_var: key, node.iter_var2: value}
        return {node.iter_var: value if is_list else key}


def _binds(node: Comprehension) -> bool:
    """Return whether the fold is over an empty list, only to bind a name."""
    over, condition = node.iter_range, node.loop_condition
    return (
        isinstance(over, ListExpr)
        and not over.elements
        and isinstance(condition, Literal)
        and condition.value is False
        and node.accu_var != ACCUMULATOR
    )


def _written(node: Expr) -> Range | None:
    """Return the size of a value written in the expression itself."""
    match node:
        case Literal(value=str() | bytes() as value):
            return exactly(len(value))
        case Literal():
            return ONE
        case ListExpr():
            return exactly(len(node.elements))
        case MapExpr():
            return exactly(len(node.entries))
    return None


def _is_scalar(kind: Type) -> bool:
    if is_optional(kind):
        return _is_scalar(kind.params[0])
    return kind.name in _SCALARS

"""Plan a checked expression: decide everything that depends only on the source.

Names become slots, constants are folded where cel-go folds them (literal lists and maps, and type
conversions; an error there refuses the program), memberships in literal lists become sets, and
function calls with constant arguments are precomputed. Runs when policies load.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from policyd import versions
from policyd._core.eval.access import (
    Chain,
    ChainStep,
    OptionalPathNode,
    OptionalPathOrNode,
    OwnKey,
    RawKey,
)
from policyd._core.eval.construct import ListNode, MapNode, StructNode
from policyd._core.eval.functions import Overload
from policyd._core.eval.layout import Layout
from policyd._core.eval.logic import Conditional, Equal, EqualConst, OptionalOr, Or
from policyd._core.eval.nodes import Const, Node
from policyd._core.eval.program import Program, VariableOptional, VariableTest, constant
from policyd._core.json.shared_keys import shared_key
from policyd._core.values.types import TypeValue, UInt, qualifier_type
from policyd.cel.plan.attributes import Attribute, NodeBase, SlotBase, VariableBase
from policyd.cel.plan.calls import all_const, computed, make_call, membership, refuse
from policyd.cel.plan.folds import FoldSlots, plan_fold
from policyd.cel.plan.nesting import makes, nesting, only_reads
from policyd.cel.plan.specialise import conjunction
from policyd.cel.syntax.ast import (
    Call,
    Checked,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Reference,
    Select,
    StructExpr,
)
from policyd.cel.syntax.recursion import deep_recursion, terms_of
from policyd.cel.types.declarations import TYPE_NAMES
from policyd.cel.types.functions import functions
from policyd.cel.types.types import DYN, Kind, Type, is_optional, is_patch_object
from policyd.versions import KubernetesVersion

# cel-go has one function for each of these, whichever overload the checker chose.
_ONE_FOR_ALL = frozenset(("_+_", "_-_", "_*_", "_/_", "_%_", "_<_", "_<=_", "_>_", "_>=_"))
_KEYS = (str, int, bool, float, UInt)
_EQUALITY = frozenset(("_==_", "_!=_"))
# Operators with their own node.
_OPERATORS = _EQUALITY | {"_&&_", "_||_", "_?_:_", "_[_]", "_?._", "_[?_]"}


def plan(checked: Checked, layout: Layout, *, fold: bool = True) -> Program:
    """Return the program of a checked expression. Raises CelTypeError where Kubernetes reports
    ``program instantiation failed``. Without ``fold``, constants cost as much as in unoptimised
    cel-go programs; policies are always folded.
    """
    planner = Planner(layout, checked.types, checked.references, fold=fold, version=checked.version)
    with deep_recursion():
        root = planner.node(checked.expr)
        levels = nesting(checked.expr, checked.types, layout.nesting)
    return Program(
        checked.text,
        root,
        layout,
        checked.result_type,
        rereads(checked.version),
        levels,
        planner.hands_on,
        since_1_38(checked.version),
    )


def rereads(version: KubernetesVersion) -> bool:
    """Return whether optionals are reread (``_core/eval/rereading``)."""
    return not version.has(versions.OPTIONALS_KEEP_VALUES)


def since_1_38(version: KubernetesVersion) -> bool:
    """Return whether nodes evaluate as in cel-go 0.33 (``Activation.since_1_38``)."""
    return version.has(versions.CEL_0_33)


class Planner:
    """Plans one expression."""

    def __init__(
        self,
        layout: Layout,
        types: Mapping[int, Type],
        references: Mapping[int, Reference],
        *,
        fold: bool,
        version: KubernetesVersion,
    ) -> None:
        self.layout = layout
        self._version = version
        self._dot_is_global = version.has(versions.LEADING_DOT_IS_GLOBAL)
        self._functions = functions(version)
        self._locals: FoldSlots = {}
        self.folds = fold
        self._types = types
        self._references = references
        self.hands_on = False  # whether a JSONPatch or Object may contain a value that was read

    def node(self, expr: Expr, counted: bool = True) -> Node:
        """Return the node of an expression; ``counted`` is False for a direct branch of ``?:``."""
        planned = self._plan(expr)
        return planned.node(counted) if isinstance(planned, Attribute) else planned

    def in_round(
        self, expr: Expr, over: tuple[Node, int, int], *, begins: bool, notable: bool | None = None
    ) -> Node:
        """See ``folds.PartPlanner``."""
        return self.node(expr)

    @contextmanager
    def scope(self, names: FoldSlots) -> Iterator[None]:
        """See ``folds.PartPlanner``."""
        outer = self._locals
        self._locals = {**outer, **names}
        yield
        self._locals = outer

    def _plan(self, expr: Expr) -> Node | Attribute:
        if isinstance(expr, Select):
            return self._select(expr)
        if isinstance(expr, Ident):
            return self._ident(expr.id, expr.name)
        if isinstance(expr, Call):
            return self._call(expr)
        if isinstance(expr, Literal):
            return Const(expr.value)
        if isinstance(expr, Comprehension):
            return plan_fold(self, expr)
        if isinstance(expr, ListExpr):
            return self._list(expr)
        if isinstance(expr, MapExpr):
            return self._map(expr)
        if isinstance(expr, StructExpr):
            return self._struct(expr)
        raise TypeError(f"not an expression: {expr!r}")

    # Names and chains

    def _ident(self, node_id: int, name: str) -> Node | Attribute:
        local = None if name.startswith(".") else self._locals.get(name)
        if local is not None:
            if self._types[node_id].kind is not Kind.TYPE:
                return Attribute(local)
            return _type_named(name)  # cel-go reads the variable's name as the name of a type
        dotted, name = name.startswith("."), name.removeprefix(".")
        reference = self._references.get(node_id)
        if reference is not None and reference.value is not None:
            return Const(reference.value)
        if self._types[node_id].kind is Kind.TYPE and name not in self.layout.slots:
            refused = dotted and self._dot_is_global and not since_1_38(self._version)
            return _type_named(f".{name}" if refused else name)
        return Attribute(SlotBase(self.layout.slot(name), name))

    def _select(self, expr: Select) -> Node | Attribute:
        variable = self._variable(expr.operand, expr.field)
        if variable is not None:
            return VariableTest(variable.variable) if expr.test_only else Attribute(variable)
        declared = self._is_object(expr.operand)
        step = ChainStep(shared_key(expr.field), test=expr.test_only, declared=declared)
        return self._open(expr.operand).then(step)

    def _variable(self, operand: Expr, field: str) -> VariableBase | None:
        """Return the base ``variables.x`` of a policy variable."""
        if not isinstance(operand, Ident) or operand.name not in ("variables", ".variables"):
            return None
        if operand.name in self._locals:
            return None
        self.layout.used.add("variables")
        variable = self.layout.variables.get(field)
        return VariableBase(variable) if variable is not None else None

    def _open(self, expr: Expr) -> Attribute:
        """Plan an expression as the base of further steps."""
        planned = self._plan(expr)
        return planned if isinstance(planned, Attribute) else Attribute(NodeBase(planned))

    def _index(self, base: Expr, index: Expr, optional: bool) -> Attribute:
        if isinstance(index, Literal) and isinstance(index.value, str):
            variable = self._variable(base, index.value)
            if variable is not None:  # always present: .?x only wraps it
                return Attribute(NodeBase(VariableOptional(variable.variable)))
        chain = self._open(base)
        planned = self._key(index)
        if isinstance(planned, Const):
            if type(planned.value) not in _KEYS:
                raise refuse(f"invalid qualifier type: {qualifier_type(planned.value)}")
            key = shared_key(planned.value) if type(planned.value) is str else planned.value
            declared = self._is_object(base)
            return chain.then(ChainStep(key, optional=optional, declared=declared))
        return chain.then(ChainStep(node=planned, optional=optional))

    def _key(self, expr: Expr) -> Node:
        """Plan an index. Errors name the Go type of read values, also in a branch of ``?:``."""
        reads = only_reads(expr, self._locals)
        if not reads and isinstance(expr, Call) and expr.function == "_?_:_":
            condition, yes, no = expr.args
            return Conditional(self.node(condition), self._key(yes), self._key(no))
        planned = self.node(expr, False)
        return planned if isinstance(planned, Const) or not reads else RawKey(planned)

    def _is_object(self, expr: Expr) -> bool:
        """Return whether an expression is known to be an ``Object``: cel-go reads its absent fields
        as null.
        """
        return is_patch_object(self._types[expr.id].name)

    # Calls

    def _call(self, expr: Call) -> Node | Attribute:
        operator, args = expr.function, expr.args
        if operator in _OPERATORS and expr.target is None:
            if operator == "_&&_":
                return conjunction([self.node(each) for each in terms_of(expr, "_&&_")])
            if operator == "_||_":
                return Or(tuple([self.node(each) for each in terms_of(expr, "_||_")]))
            if operator == "_?_:_":
                condition, yes, no = args
                made = Conditional(self.node(condition), self._branch(yes), self._branch(no))
                return Attribute(NodeBase(made, False, since_1_38(self._version)))
            first, second = args
            if operator in _EQUALITY:
                return self._equality(first, second, operator == "_!=_")
            return self._index(first, second, operator != "_[_]")
        listed = args if expr.target is None else (expr.target, *args)
        arguments = tuple([self.node(each) for each in listed])
        if operator in ("or", "orValue") and len(arguments) == 2:
            return self._optional_or(arguments[0], arguments[1], operator == "orValue")
        return self._function(expr, operator, arguments)

    def _branch(self, expr: Expr) -> Node:
        """Plan a branch of ``?:``: an optional result passes through a chain."""
        planned = self._plan(expr)
        if isinstance(planned, Attribute):
            return planned.node(False)
        found = self._types.get(expr.id, DYN)
        return Chain(planned, (), 0) if found == DYN or is_optional(found) else planned

    def _equality(self, left: Expr, right: Expr, negated: bool) -> Node:
        first, second = self.node(left), self.node(right)
        if isinstance(second, Const) and type(second.value) is str:
            return EqualConst(first, second.value, negated)
        return Equal(first, second, negated)

    def _function(self, expr: Call, name: str, arguments: tuple[Node, ...]) -> Node:
        reference = self._references.get(expr.id)
        ids = reference.overload_ids if reference is not None else ()
        known = len(ids) == 1
        rows = self._functions
        if known and ids[0] in rows.by_id:
            overloads: tuple[Overload, ...] = (rows.by_id[ids[0]],)
            if name in _ONE_FOR_ALL:
                overloads += rows.candidates(name, len(arguments))
        else:
            overloads = rows.candidates(name, len(arguments))
        if not overloads or not overloads[0].runs:
            raise refuse(f"no such overload: {name}")
        if self.folds and name == "@in" and ids == ("in_list",):
            member = membership(*arguments)
            if member is not None:
                return member
        made = make_call(name, overloads, arguments, known)
        if not self.folds or not arguments or not all_const(arguments):
            return made
        only = overloads[0] if known else None
        return computed(made, name, only, since_1_38=since_1_38(self._version))

    def _optional_or(self, left: Node, right: Node, unwrap: bool) -> Node:
        if unwrap and isinstance(left, OptionalPathNode):
            return OptionalPathOrNode(left, right)
        return OptionalOr(left, right, unwrap, self._version.has(versions.OPTIONAL_OR_CHECKS))

    # Literals

    def _list(self, expr: ListExpr) -> Node:
        elements = tuple([self.node(each) for each in expr.elements])
        made = ListNode(elements, expr.optional)
        return constant(made) if self.folds and all_const(elements) else made

    def _map(self, expr: MapExpr) -> Node:
        keys = tuple([self._entry_key(entry.key) for entry in expr.entries])
        values = tuple([self.node(entry.value) for entry in expr.entries])
        optional = frozenset([i for i, entry in enumerate(expr.entries) if entry.optional])
        made = MapNode(keys, values, optional)
        return constant(made) if self.folds and all_const(keys + values) else made

    def _entry_key(self, expr: Expr) -> Node:
        planned = self.node(expr)
        reads = not isinstance(planned, Const) and only_reads(expr, self._locals)
        return OwnKey(planned) if reads else planned

    def _struct(self, expr: StructExpr) -> Node:
        names = tuple([field.name for field in expr.fields])
        values = tuple([self.node(field.value) for field in expr.fields])
        optional = frozenset([i for i, field in enumerate(expr.fields) if field.optional])
        if not all(makes(field.value, self._types) for field in expr.fields):
            self.hands_on = True
        return StructNode(expr.type_name.removeprefix("."), names, values, optional)


def _type_named(name: str) -> Node:
    """Return a type as a value; an error for struct types and for other names."""
    if name not in TYPE_NAMES:
        raise refuse(f"reference to undefined type: {name}")
    return Const(TypeValue(name))

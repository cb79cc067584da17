"""The syntax tree of a CEL expression, after macro expansion. Only data: no checking, no
evaluation.

Operators are calls with the names that cel-go gives them (``_+_``, ``_&&_``, ``_?_:_``, ``_[_]``,
``!_``, ``-_``, ``@in``, ``_?._`` for ``a.?b``, ``_[?_]`` for ``a[?b]``). ``has(a.b)`` is a
``Select`` with ``test_only``. The other macros become a ``Comprehension`` that remembers which
macro it was, so that the planner can choose a specialised node.

The .pxd gives each class its slots.
"""

from dataclasses import dataclass

from policyd.cel.types.types import Type
from policyd.versions import NEWEST, KubernetesVersion


@dataclass(frozen=True, repr=False, eq=False)
class Expr:
    """A node; ``id`` is unique in its tree, ``pos`` is the code point offset used in errors."""

    id: int
    pos: int


@dataclass(frozen=True, repr=False, eq=False)
class Literal(Expr):
    """null, bool, int, float, str, bytes or ``UInt`` (``_core.values.types``), as the evaluator
    uses them.
    """

    value: object


@dataclass(frozen=True, repr=False, eq=False)
class Ident(Expr):
    name: str


@dataclass(frozen=True, repr=False, eq=False)
class Select(Expr):
    operand: Expr
    field: str
    test_only: bool = False


@dataclass(frozen=True, repr=False, eq=False)
class Call(Expr):
    """``function(args)``, or ``target.function(args)`` where target is not None."""

    function: str
    target: Expr | None
    args: tuple[Expr, ...]


@dataclass(frozen=True, repr=False, eq=False)
class ListExpr(Expr):
    """``[a, ?b]``: ``optional`` holds the indexes of the elements marked with ``?``."""

    elements: tuple[Expr, ...]
    optional: frozenset[int] = frozenset()


@dataclass(frozen=True, repr=False, eq=False)
class MapEntry:
    id: int
    pos: int
    key: Expr
    value: Expr
    optional: bool = False


@dataclass(frozen=True, repr=False, eq=False)
class MapExpr(Expr):
    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, repr=False, eq=False)
class StructField:
    id: int
    pos: int
    name: str
    value: Expr
    optional: bool = False


@dataclass(frozen=True, repr=False, eq=False)
class StructExpr(Expr):
    type_name: str
    fields: tuple[StructField, ...]


@dataclass(frozen=True, repr=False, eq=False)
class Comprehension(Expr):
    """The general fold of CEL. ``macro`` is its macro: ``all``, ``exists``, ``map`` …"""

    iter_range: Expr
    iter_var: str
    iter_var2: str  # "" in one-variable macros
    accu_var: str
    accu_init: Expr
    loop_condition: Expr
    loop_step: Expr
    result: Expr
    macro: str = ""


@dataclass(frozen=True, repr=False, eq=False)
class Reference:
    """The declaration that a name in the tree refers to.

    A variable or a type has a ``name`` and no overloads (``value`` is set for constants); a call
    has the ids of every overload that its argument types allow.
    """

    name: str = ""
    overload_ids: tuple[str, ...] = ()
    value: object | None = None


@dataclass(frozen=True, repr=False, eq=False)
class Checked:
    """A checked expression.

    ``expr`` is the tree with names resolved: ``a.b`` that names one variable is an ``Ident``, and
    ``sets.contains(x, y)`` a call of ``sets.contains`` without target. ``types`` and ``references``
    are keyed by node id; types contain no type parameters. ``version`` determines the functions
    that the expression may call.
    """

    text: str
    expr: Expr
    types: dict[int, Type]
    references: dict[int, Reference]
    version: KubernetesVersion = NEWEST

    @property
    def result_type(self) -> Type:
        return self.types[self.expr.id]


def qualified_name(node: Expr) -> str | None:
    """Return ``a.b.c`` if the node consists of names only; None otherwise."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])


def same_nodes(some: tuple[Expr, ...], others: tuple[Expr, ...]) -> bool:
    """Return whether two tuples of one length hold the same objects."""
    for index in range(len(some)):
        if some[index] is not others[index]:
            return False
    return True

"""C types of planner.py."""

cimport cython

from policyd._core.eval.nodes cimport Const, Node
from policyd.cel.plan.attributes cimport Attribute, NodeBase, SlotBase, VariableBase
from policyd.cel.plan.nesting cimport only_reads
from policyd.cel.syntax.ast cimport (
    Call,
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
from policyd.cel.types.types cimport Type


cdef frozenset _EQUALITY, _OPERATORS, _ONE_FOR_ALL
cdef tuple _KEYS


cdef class Planner:
    cdef readonly object layout
    cdef readonly bint folds
    cdef readonly bint hands_on
    cdef object _version
    cdef bint _dot_is_global
    cdef object _functions
    cdef dict _locals
    cdef dict _types
    cdef dict _references

    @cython.locals(planned=object)
    cpdef Node node(self, Expr expr, bint counted=*)
    cpdef object _plan(self, Expr expr)

    @cython.locals(dotted=bint, reference=Reference)
    cdef object _ident(self, node_id, str name)

    @cython.locals(variable=VariableBase)
    cdef object _select(self, Select expr)
    cdef VariableBase _variable(self, Expr operand, str field)
    cdef Attribute _open(self, Expr expr)

    @cython.locals(variable=VariableBase, chain=Attribute, planned=Node)
    cdef Attribute _index(self, Expr base, Expr index, bint optional)

    @cython.locals(condition=Expr, yes=Expr, no=Expr, planned=Node)
    cdef Node _key(self, Expr expr)

    cdef bint _is_object(self, Expr expr) except -1

    @cython.locals(
        operator=str, args=tuple, condition=Expr, yes=Expr, no=Expr, first=Expr, second=Expr
    )
    cdef object _call(self, Call expr)

    @cython.locals(found=Type)
    cdef Node _branch(self, Expr expr)

    @cython.locals(first=Node, second=Node)
    cdef Node _equality(self, Expr left, Expr right, bint negated)

    @cython.locals(reference=Reference, ids=tuple, known=bint, overloads=tuple)
    cdef Node _function(self, Call expr, str name, tuple arguments)
    cdef Node _optional_or(self, Node left, Node right, bint unwrap)
    cdef Node _list(self, ListExpr expr)
    cdef Node _map(self, MapExpr expr)
    cdef Node _entry_key(self, Expr expr)
    cdef Node _struct(self, StructExpr expr)


cdef Node _type_named(str name)

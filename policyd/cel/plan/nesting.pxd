"""C types of nesting.py."""

cimport cython

from policyd.cel.syntax.ast cimport (
    Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select, StructExpr,
)
from policyd.cel.syntax.recursion cimport children
from policyd.cel.types.types cimport Type

cdef class _Levels:
    cdef dict types
    cdef dict variables

    @cython.locals(levels=int, known=Type)
    cpdef int of(self, Expr node, dict names) except -1

    @cython.locals(deepest=int, part=Expr)
    cdef int _of(self, Expr node, dict names) except -1

    @cython.locals(second=Expr)
    cdef int _named(self, Call node, dict names, int deepest) except -1
    cdef int _fold(self, Comprehension node, dict names) except -1


cdef bint _is_variables(Expr node, dict names) except -1
cdef int _added(str function) except -1


@cython.locals(base=Expr, index=Expr, yes=Expr, no=Expr)
cpdef bint only_reads(Expr expr, macro_variables) except -1

"""C types of recursion.py."""

cimport cython

from policyd.cel.syntax.ast cimport (
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


cdef class _Room:
    cdef object _lock
    cdef Py_ssize_t _users, _before


cpdef tuple children(Expr node)


@cython.locals(found=list, stack=list, node=Expr)
cpdef list terms_of(Expr root, str function)

"""C types of validators.py."""

cimport cython

from policyd.cel.syntax.ast cimport Call, Expr, Ident, ListExpr, Literal, MapExpr, Select
from policyd.cel.syntax.recursion cimport children


cdef frozenset _CHECKED


@cython.locals(found=list, stack=list, node=Expr, formats=Py_ssize_t)
cdef list _suspects(Expr root)

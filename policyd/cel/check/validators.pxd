"""C types of validators.py."""

cimport cython

from policyd.cel.syntax.ast cimport (
    Call, Checked, Expr, Ident, ListExpr, Literal, MapEntry, MapExpr, Select,
)
from policyd.cel.syntax.recursion cimport children
from policyd.cel.types.types cimport Type, is_optional, is_same, unwrapped

cdef frozenset _CHECKED


@cython.locals(found=list, stack=list, node=Expr, formats=Py_ssize_t)
cdef list _suspects(Expr root)


@cython.locals(argument=Expr)
cdef list _literal_argument(Call node, str name, fails)


@cython.locals(found=Type)
cdef Type _value_type(Expr node, Checked checked, bint optional)


@cython.locals(expected=Type, found=Type, element=Expr, index=Py_ssize_t)
cdef list _mixed_list(ListExpr node, Checked checked)


@cython.locals(entry=MapEntry, key=Type, value=Type, expected=tuple, issues=list)
cdef list _mixed_map(MapExpr node, Checked checked)

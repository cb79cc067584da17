"""C types of fields.py."""

cimport cython

from policyd.cel.syntax.ast cimport Call, Comprehension, Expr, Ident, Literal, Select
from policyd.cel.syntax.recursion cimport children


cdef class ReadFields:
    cdef readonly frozenset paths
    cdef readonly bint exact


cdef ReadFields _NONE
cdef ReadFields _ROOT
cdef frozenset _ACCESS


cdef class _Reader:
    cdef object _variables

    @cython.locals(operand=Expr, index=Expr, each=Expr, found=set)
    cdef ReadFields read(self, Expr expr, dict names)

    @cython.locals(each=Expr)
    cdef void _add(self, Expr expr, dict names, set found) except *

    @cython.locals(whole=frozenset)
    cdef void _add_folded(self, Comprehension fold, dict names, set found) except *


cdef ReadFields _below(ReadFields read, key)

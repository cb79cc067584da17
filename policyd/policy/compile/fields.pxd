"""C types of fields.py."""

cimport cython

from policyd.cel.syntax.ast cimport Call, Comprehension, Expr, Ident, Literal, Select
from policyd.cel.syntax.recursion cimport children


cdef class ReadFields:
    cdef readonly frozenset paths
    cdef readonly bint exact


cdef ReadFields _NONE
cdef ReadFields _ROOT


cdef class _Reader:
    cdef dict _roots
    cdef object _variables

    cdef ReadFields read_all(self, Expr expr)

    @cython.locals(operand=Expr, index=Expr)
    cdef ReadFields read(self, Expr expr, dict names)

    @cython.locals(paths=frozenset, found=frozenset, each=Expr)
    cdef ReadFields _all(self, tuple parts, dict names)

    @cython.locals(whole=frozenset)
    cdef ReadFields _folded(self, Comprehension fold, dict names)


cdef ReadFields _below(ReadFields read, key)

"""C types of objects.py."""

from policyd.cel.check.checker cimport Checker
from policyd.cel.syntax.ast cimport Call, Expr
from policyd.cel.types.declarations cimport OverloadDecl
from policyd.cel.types.types cimport Type


cdef class _ObjectChecker(Checker):
    cdef object _objects

    cdef Expr _resolve(self, Call node, tuple overloads)
    cdef Expr _indexed(self, Call node, Type of)
    cdef tuple _iteration_types(self, Expr over, bint two)

"""C types of calls.py."""

from policyd._core.eval.nodes cimport Const, Node


cpdef bint all_const(tuple nodes) except -1
cpdef Node membership(Node value, Node container)
cpdef Node make_call(str name, tuple overloads, tuple arguments, bint known)
cdef object _prepared(tuple overloads, Node second)

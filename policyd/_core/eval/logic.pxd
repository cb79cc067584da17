"""``&&``, ``||``, ``?:``, ``==``, ``!=`` and ``in`` a list of literals."""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.nodes cimport Node


cdef class And(Node):
    """False if any term is false; otherwise the first error, if there is one; otherwise true."""
    cdef readonly tuple terms


cdef class Or(Node):
    """True if any term is true; otherwise the first error, if there is one; otherwise false."""
    cdef readonly tuple terms


cdef class Conditional(Node):
    cdef Node condition
    cdef Node yes
    cdef Node no


cdef class Equal(Node):
    cdef Node left
    cdef Node right
    cdef bint negated


cdef class EqualConst(Node):
    """Equality with a string constant: the most frequent comparison in policies."""
    cdef Node child
    cdef str constant
    cdef bint negated


cdef class InSet(Node):
    """``x in [literals]``: only x is charged, as in cel-go."""
    cdef Node child
    cdef frozenset members

# The result of && for the terms from ``start`` on; those before were true.
cdef object all_of(Activation act, tuple terms, Py_ssize_t start)

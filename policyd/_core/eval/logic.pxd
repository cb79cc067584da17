"""``&&``, ``||``, ``?:``, ``==``, ``!=`` and ``in`` a list of literals."""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.nodes cimport Node


cdef class And(Node):
    """False beats an error on either side; the first error beats true."""
    cdef readonly tuple terms


cdef class Or(Node):
    """True beats an error on either side; the first error beats false."""
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
    """Equality with a string constant; strings are most of what policies compare with."""
    cdef Node child
    cdef str constant
    cdef bint negated


cdef class InSet(Node):
    """``x in [literals]``: costs nothing beyond x, as in cel-go."""
    cdef Node child
    cdef frozenset members

# What && gives for its terms from one on, if those before it were true.
cdef object all_of(Activation act, tuple terms, Py_ssize_t start)

"""The plan of an expression: a tree of nodes, made once by ``cel/plan/planner.py``.

``eval`` returns a value or a ``CelError``; it raises only ``BudgetExceeded``. Nodes never change: a
program may be used by several threads, each with its own activation. Each node charges what
cel-go's cost tracker charges for the expressions it stands for.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation


cdef class Node:
    cdef object eval(self, Activation act)


cdef class Const(Node):
    """A literal, or what cel-go folds into one; costs nothing."""
    cdef readonly object value


cdef class Precomputed(Node):
    """A call whose arguments are all constants: computed once, charged every time."""
    cdef object value
    cdef int64_t cost


cdef class Slot(Node):
    """A variable. ``units`` is 0 where cel-go does not count it (a bare variable after ``?``)."""
    cdef readonly Py_ssize_t slot
    cdef readonly str name
    cdef int64_t units


# The value of a slot that is not set: an error that names the variable.
cdef object unset(str name)

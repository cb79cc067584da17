"""The plan of an expression: a tree of nodes, created once by ``cel/plan/planner.py``.

``eval`` returns a value or a ``CelError``; it raises only ``BudgetExceeded``. Nodes are immutable:
several threads may use one program, each with its own activation. Each node charges what cel-go's
cost tracker charges for the expressions that the node represents.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation


cdef class Node:
    cdef object eval(self, Activation act)


cdef class Const(Node):
    """A literal, or an expression that cel-go folds into one. Nothing is charged."""
    cdef readonly object value


cdef class Precomputed(Node):
    """A call with constant arguments: computed once, charged at each evaluation."""
    cdef object value
    cdef int64_t cost


cdef class Slot(Node):
    """A variable. ``units`` is 0 where cel-go does not charge it (a bare variable after ``?``)."""
    cdef readonly Py_ssize_t slot
    cdef readonly str name
    cdef int64_t units


# The error for a slot that is not set. It names the variable.
cdef object unset(str name)

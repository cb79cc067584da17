"""The simplest nodes: constants and variables.

``eval`` returns a value or a ``CelError``; it raises only ``BudgetExceeded``. Nodes are immutable:
several threads may use one program, each with its own activation. Each node charges what cel-go's
cost tracker charges for the expressions it represents.
"""

cimport cython
from libc.stdint cimport int64_t

from policyd._core.values.activation cimport charge
from policyd._core.values.errors cimport error
from policyd._core.eval.rereading cimport reread
from policyd._core.values.types cimport MISSING, Optional


cdef class Node:
    cdef object eval(self, Activation act):
        raise TypeError("a node without eval")


@cython.final
cdef class Const(Node):
    """A literal, or an expression that cel-go folds into one. Nothing is charged."""
    #: value: object
    def __init__(self, value):
        #: (object) -> None
        self.value = value

    cdef object eval(self, Activation act):
        return self.value


@cython.final
cdef class Precomputed(Node):
    """A call with constant arguments: computed once, charged at each evaluation."""
    cdef object value
    cdef int64_t cost

    def __init__(self, value, cost):
        #: (object, int) -> None
        self.value = value
        self.cost = cost

    cdef object eval(self, Activation act):
        charge(act, self.cost)
        return self.value


@cython.final
cdef class Slot(Node):
    """A variable. ``units`` is 0 where cel-go does not charge it (a bare variable after ``?``)."""
    cdef readonly Py_ssize_t slot
    cdef readonly str name
    cdef int64_t units

    def __init__(self, slot, str name not None, units=1):
        #: (int, str, int) -> None
        self.slot = slot
        self.name = name
        self.units = units

    @cython.boundscheck(False)  # the planner assigned the slot, and the activation has all slots
    @cython.wraparound(False)
    cdef object eval(self, Activation act):
        charge(act, self.units)
        value = act.slots[self.slot]
        if type(value) is Optional:
            return reread(<Optional>value) if act.rereads else value
        return unset(self.name) if value is MISSING else value


cdef object unset(str name):
    """The error for a slot that is not set. It names the variable."""
    return error(f"no such attribute(s): {name}")

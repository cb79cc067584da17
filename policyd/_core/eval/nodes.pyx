"""The simplest nodes: constants and variables."""

cimport cython

from policyd._core.values.activation cimport charge
from policyd._core.values.errors cimport error
from policyd._core.eval.rereading cimport reread
from policyd._core.values.types cimport MISSING, Optional


@cython.auto_pickle(False)
cdef class Node:
    cdef object eval(self, Activation act):
        raise TypeError("a node without eval")


@cython.final
@cython.auto_pickle(False)
cdef class Const(Node):
    def __init__(self, value):
        self.value = value

    cdef object eval(self, Activation act):
        return self.value


@cython.final
@cython.auto_pickle(False)
cdef class Precomputed(Node):
    def __init__(self, value, cost):
        self.value = value
        self.cost = cost

    cdef object eval(self, Activation act):
        charge(act, self.cost)
        return self.value


@cython.final
@cython.auto_pickle(False)
cdef class Slot(Node):
    def __init__(self, slot, str name not None, units=1):
        self.slot = slot
        self.name = name
        self.units = units

    @cython.boundscheck(False)  # the planner gave out the slot, the activation was made for all
    @cython.wraparound(False)
    cdef object eval(self, Activation act):
        charge(act, self.units)
        value = act.slots[self.slot]
        if type(value) is Optional:
            return reread(<Optional>value) if act.rereads else value
        return unset(self.name) if value is MISSING else value


cdef object unset(str name):
    return error(f"no such attribute(s): {name}")

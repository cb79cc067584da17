"""C types of attributes.py."""

cimport cython

from policyd._core.eval.access cimport ChainStep
from policyd._core.eval.nodes cimport Node


cdef class SlotBase:
    cdef readonly Py_ssize_t slot
    cdef readonly str name


cdef class BoundBase:
    cdef readonly Py_ssize_t slot
    cdef readonly Node value


cdef class VariableBase:
    cdef readonly object variable


cdef class NodeBase:
    cdef readonly Node node
    cdef readonly bint counted
    cdef readonly bint free_test


cdef class Attribute:
    cdef readonly object base
    cdef readonly tuple steps

    cpdef Attribute then(self, ChainStep step)

    @cython.locals(charge=Py_ssize_t, base_counted=bint, tested=bint, refunded=bint, path=Node)
    cpdef Node node(self, bint counted=*)


cpdef Node base_node(base, Py_ssize_t charge)


@cython.locals(names=tuple, optional=list)
cdef Node _path(SlotBase base, tuple steps, Py_ssize_t charge)

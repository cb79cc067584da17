"""Reading fields, keys and elements: ``a.b``, ``a[b]``, ``has(a.b)``, ``a.?b.orValue(c)``."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.nodes cimport Node

cdef extern from "Python.h":
    bint PyDict_CheckExact(PyObject* value)
    PyObject* PyDict_GetItemWithError(PyObject* entries, PyObject* key) except? NULL
    PyObject* PyList_GET_ITEM(PyObject* items, Py_ssize_t index)
    PyObject* PyTuple_GET_ITEM(PyObject* items, Py_ssize_t index)


cdef class ChainStep:
    cdef readonly object key
    cdef readonly Node node
    cdef readonly bint optional
    cdef readonly bint test      # the last step of has()
    cdef readonly bint declared  # a field of a value that is known to be an Object


cdef class PathNode(Node):
    cdef readonly Py_ssize_t slot
    cdef readonly str name
    cdef readonly tuple fields
    cdef readonly int64_t units   # charged for the variable

    cdef object eval_slowly(self, Activation act)


# The value behind the first ``count`` fields, if all of them exist and all values on the way are
# maps: the usual case. NULL otherwise; the caller then evaluates the path step by step. The
# references are borrowed: the slots hold the tree, and nothing changes a tree while it is read.
# ``missing`` is the index of the field that a map lacks, or -1.
cdef inline PyObject* walk_maps(
    Activation act, Py_ssize_t slot, tuple fields, Py_ssize_t count, Py_ssize_t* missing
) except? NULL:
    cdef PyObject* value = PyList_GET_ITEM(<PyObject*>act.slots, slot)
    cdef Py_ssize_t i
    missing[0] = -1
    for i in range(count):
        if not PyDict_CheckExact(value):
            return NULL
        value = PyDict_GetItemWithError(value, PyTuple_GET_ITEM(<PyObject*>fields, i))
        if value is NULL:
            missing[0] = i
            return NULL
    return value

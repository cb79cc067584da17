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


cdef class PathNode(Node):
    """``a.b.c``: a variable and fields by name. The most frequent node of policies."""
    cdef readonly Py_ssize_t slot
    cdef readonly str name
    cdef readonly tuple fields
    cdef readonly int64_t units   # for the variable

    # The same where a value on the way is no map, or absent.
    cdef object eval_slowly(self, Activation act)


cdef class HasPathNode(Node):
    """``has(a.b.c)``."""
    cdef readonly Py_ssize_t slot
    cdef str name
    cdef readonly tuple fields

    cdef object eval_slowly(self, Activation act)


cdef class OptionalPathNode(Node):
    """``a.b.?c.d``: from the field number ``first`` on, an absent field is ``optional.none()``."""
    cdef Py_ssize_t slot
    cdef str name
    cdef tuple fields
    cdef Py_ssize_t first
    cdef int64_t units

    # The value, MISSING or a CelError; not wrapped in an Optional.
    cdef object resolve(self, Activation act)


cdef class OptionalPathOrNode(Node):
    """``a.?b.orValue(c)`` without making the optional."""
    cdef OptionalPathNode path
    cdef Node otherwise


cdef class ChainStep:
    """One step of a Chain: a constant key, or a node that gives the key."""
    cdef object key
    cdef Node node
    cdef bint optional
    cdef bint test  # the last step of has()
    cdef bint declared  # a field of what is known to be an Object


cdef class RawKey(Node):
    """A key read from a variable: the error for what is no key names its Go type there."""
    cdef Node node


cdef class OwnKey(Node):
    """A list or map read from a variable for a map's key: Kubernetes wraps it anew at each reading,
    so that no other reading is the same key.
    """
    cdef Node node


cdef class Chain(Node):
    """Any other chain of selects and indexes, from any base."""
    cdef Node base
    cdef tuple steps
    cdef int64_t units

    cdef object _walk(self, Activation act)
    cdef bint _tests(self)


cdef class OptionalOr(Node):
    """``a.or(b)`` and ``a.orValue(b)``: b is evaluated only if a is none."""
    cdef Node left
    cdef Node right
    cdef bint unwrap
    cdef bint checks  # that a is an optional


# The value under key, a CelError, or (only if ``test``) MISSING.
cdef object select(object value, object key, bint test)

# What the first ``count`` fields lead to if they are there and go through maps alone: the usual
# case. NULL: not so, find out slowly. Borrowed, like each value on the way: the slots hold the
# tree, and nothing changes a tree while it is looked at.
cdef inline PyObject* walk_maps(
    Activation act, Py_ssize_t slot, tuple fields, Py_ssize_t count
) except? NULL:
    cdef PyObject* value = PyList_GET_ITEM(<PyObject*>act.slots, slot)
    cdef Py_ssize_t i
    for i in range(count):
        if not PyDict_CheckExact(value):
            return NULL
        value = PyDict_GetItemWithError(value, PyTuple_GET_ITEM(<PyObject*>fields, i))
        if value is NULL:
            return NULL
    return value

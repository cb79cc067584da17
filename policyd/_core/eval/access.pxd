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
    cdef readonly int64_t units   # charged for the variable

    # Evaluates the path step by step, where a value on the way is not a map or is missing.
    cdef object eval_slowly(self, Activation act)


cdef class HasPathNode(Node):
    """``has(a.b.c)``."""
    cdef readonly Py_ssize_t slot
    cdef str name
    cdef readonly tuple fields

    cdef object eval_slowly(self, Activation act)


cdef class OptionalPathNode(Node):
    """``a.b.?c.d``: from field number ``first`` on, a missing field gives ``optional.none()``."""
    cdef Py_ssize_t slot
    cdef str name
    cdef tuple fields
    cdef Py_ssize_t first
    cdef int64_t units

    # The value, MISSING or a CelError, without the Optional around it.
    cdef object resolve(self, Activation act)
    cdef object resolve_slowly(self, Activation act)


cdef class OptionalPathOrNode(Node):
    """``a.?b.orValue(c)``, without creating the optional."""
    cdef OptionalPathNode path
    cdef Node otherwise


cdef class ChainStep:
    """One step of a Chain: a constant key, or a node that evaluates to the key."""
    cdef object key
    cdef Node node
    cdef bint optional
    cdef bint test  # the last step of has()
    cdef bint declared  # a field of a value that is known to be an Object


cdef class RawKey(Node):
    """A key read from a variable. The error for an invalid key names its Go type."""
    cdef Node node


cdef class OwnKey(Node):
    """A list or map that is read from a variable and used as the key of a map.

    Kubernetes wraps the value anew at each read, so no two reads are the same key.
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
    cdef bint checks  # check that a is an optional


# The value under key, a CelError, or (only if ``test``) MISSING.
cdef object select(object value, object key, bint test)

# The value behind the first ``count`` fields, if all of them exist and all values on the way are
# maps: the usual case. NULL otherwise; the caller then evaluates the path step by step. The
# reference is borrowed, and so are those on the way: the slots hold the tree, and a tree does not
# change while it is read. ``missing``: the field that a map does not have, -1 if there is none.
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

"""Equality of JSON values."""

from cpython.object cimport PyObject

cdef extern from "Python.h":
    bint PyDict_Next(PyObject* entries, Py_ssize_t* at, PyObject** key, PyObject** value)
    PyObject* PyDict_GetItemWithError(PyObject* entries, PyObject* key) except? NULL

cdef int check_depth(int depth) except -1
cdef bint same(object one, object other, bint strict, int depth) except -1
cdef bint alike(object one, object other) except -1

# The value of a key in ``other``, borrowed; NULL if there is none. Two versions of a map usually
# have the same key objects in the same order. ``place`` is the position where the key then is; it
# advances with each key found there, which saves the lookup.
cdef inline PyObject* counterpart(
    PyObject* other, PyObject* key, Py_ssize_t* place
) except? NULL:
    cdef Py_ssize_t at = place[0]
    cdef PyObject* name = NULL
    cdef PyObject* value = NULL
    if PyDict_Next(other, &at, &name, &value) and name == key:
        place[0] = at
        return value
    return PyDict_GetItemWithError(other, key)

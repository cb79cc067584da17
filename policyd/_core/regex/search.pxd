"""Searches a string for a substring, always in linear time, and reads the clock meanwhile."""

from policyd._core.values.activation cimport Activation, take

cdef extern from "Python.h":
    Py_ssize_t PyUnicode_KIND(object text) noexcept

cdef Py_ssize_t find(
    Activation act, str text, str part, Py_ssize_t start, Py_ssize_t end
) except -2
cdef Py_ssize_t find_last(
    Activation act, str text, str part, Py_ssize_t start, Py_ssize_t end
) except -2

cdef str replace(Activation act, str text, str old, str new, Py_ssize_t limit)
cdef list split(Activation act, str text, str separator, Py_ssize_t limit)

# Count the memory of a string of this length with characters of another string.
cdef inline int take_like(Activation act, Py_ssize_t length, str text) except -1:
    return take(act, length * PyUnicode_KIND(text))

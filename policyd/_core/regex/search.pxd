"""Searching a string for another in linear time, whatever both are; the clock is read meanwhile."""

from policyd._core.values.activation cimport Activation, take

cdef extern from "Python.h":
    Py_ssize_t PyUnicode_KIND(object text) noexcept

# Where the first (last) occurrence between two positions begins, -1: nowhere. Positions are in the
# text.
cdef Py_ssize_t find(
    Activation act, str text, str part, Py_ssize_t start, Py_ssize_t end
) except -2
cdef Py_ssize_t find_last(
    Activation act, str text, str part, Py_ssize_t start, Py_ssize_t end
) except -2

# As str.replace and str.split with a separator of at least one character; at most `limit` times,
# -1: without a limit. What they make is counted.
cdef str replace(Activation act, str text, str old, str new, Py_ssize_t limit)
cdef list split(Activation act, str text, str separator, Py_ssize_t limit)

# Count a string of so many code points that is made of the characters of another.
cdef inline int take_like(Activation act, Py_ssize_t length, str text) except -1:
    return take(act, length * PyUnicode_KIND(text))

"""The message about the places where an object does not fit a pattern."""

cdef enum:
    MAX_PLACES = 10


cdef class PatternReport:
    """Collects places. With ``secret``, values of a Secret's data are not shown."""

    cdef list places
    cdef Py_ssize_t more
    cdef bint secret

    cdef int add(self, str path, str expected, object value) except -1
    cdef str text(self)


# The path of a key or item below another path.
cdef str below(str path, str key)
cdef str item_of(str path, Py_ssize_t index)

"""The places where an object does not fit a pattern, in words."""

cdef enum:
    MAX_PLACES = 10


cdef class PatternReport:
    """Collects places. With ``secret`` no value of a Secret's data is shown."""

    cdef list places
    cdef Py_ssize_t more
    cdef bint secret

    cdef int add(self, str path, str expected, object value) except -1
    cdef str text(self)


# The path of a key or an item below another.
cdef str below(str path, str key)
cdef str item_of(str path, Py_ssize_t index)

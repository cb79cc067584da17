"""The message about the places where an object does not fit a pattern."""

cdef enum:
    MAX_PLACES = 10
    MAX_TEXT = 4096  # bytes; Kubernetes' own policies have messages of at most 5 KiB


cdef class PatternReport:
    """Collects places. With ``secret``, values of a Secret's data are not shown. ``field`` is the
    path of the place, or the path that all places are below; "" if they have none in common.
    The text has one place at least, and more while they have at most ``limit`` bytes.
    """

    cdef list places
    cdef str field
    cdef str whole
    cdef Py_ssize_t more
    cdef Py_ssize_t limit
    cdef bint secret

    cdef int add(self, str path, str expected, object value) except -1
    cdef str text(self)

    # A report with a text of its own.
    @staticmethod
    cdef PatternReport saying(str whole, str field)


# The path that both paths are below, or are; None for `one` if there is none yet.
cdef str common(str one, str other)


# The path of a key or item below another path.
cdef str below(str path, str key)
cdef str item_of(str path, Py_ssize_t index)

"""The message about the places where an object does not fit a pattern."""

cdef enum:
    MAX_PLACES = 10
    MAX_TEXT = 4096  # bytes; Kubernetes' own policies have messages of at most 5 KiB


cdef class PatternReport:
    cdef list places
    cdef str field
    cdef str whole
    cdef Py_ssize_t more
    cdef Py_ssize_t limit
    cdef bint secret

    cdef int add(self, str path, str expected, object value) except -1
    cdef str text(self)

    # A report with its own text.
    @staticmethod
    cdef PatternReport saying(str whole, str field)


cdef str common(str one, str other)


cdef str below(str path, str key)
cdef str item_of(str path, Py_ssize_t index)

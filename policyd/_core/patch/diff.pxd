"""The smallest JSON Patch (RFC 6902) between two documents. ``apply.pyx`` applies a patch."""

cdef object ABSENT  # no value at all


cdef class Differ:
    cdef list operations
    cdef list path      # keys and indexes
    cdef object keys    # the fields that identify list items: a function, a dict or None

    cdef int emit(self, str op, object value) except -1
    cdef int emit_at(self, object token, str op, object value) except -1
    cdef int emit_new(self, str here, object name, object value) except -1
    cdef int walk_at(self, object token, object old, object new, int depth) except -1
    cdef int walk(self, object old, object new, int depth) except -1
    cdef int maps(self, dict old, dict new, int depth) except -1
    cdef int lists(self, list old, list new, int depth) except -1
    cdef bint paired(self, list old, list new) except -1
    cdef object identities(self, list old, list new)
    cdef tuple given_fields(self)
    cdef int edit(
        self, list old, list new, list kept, bint changed, Py_ssize_t at, int depth
    ) except -1
    cdef Py_ssize_t gap(self, list old, list new, Py_ssize_t at, int depth) except -1
    cdef int supplant(self, object old, object new, int depth) except -1


cpdef list diff(object old, object new, keys=*)

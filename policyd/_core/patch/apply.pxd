"""A document while a patch is applied."""


cdef class PatchedDocument:
    cdef object root
    cdef dict own
    cdef object latest  # the last container that was written to
    cdef dict beside    # the map to which the last operation added a key, and its pointer
    cdef str place

    cdef object owned(self, object container)
    cdef object find(self, tuple tokens)
    cdef object parent(self, tuple tokens)
    cdef bint added_beside(self, dict operation) except -1
    cdef int add(self, tuple tokens, object value) except -1
    cdef int replace(self, tuple tokens, object value) except -1
    cdef object remove(self, tuple tokens)
    cdef int perform(self, dict operation) except -1

"""A document under change."""


cdef class PatchedDocument:
    """A tree that is changed by copying: only containers of its own are ever written to.

    ``own`` holds those by id (and keeps them alive, so that no id is used again).
    """
    cdef object root
    cdef dict own
    cdef object latest  # the container that was written to last
    cdef dict beside    # the map that the latest operation has added to, if it did, and its pointer
    cdef str place

    cdef object owned(self, object container)
    cdef object find(self, tuple tokens)
    cdef object parent(self, tuple tokens)
    cdef bint added_beside(self, dict operation) except -1
    cdef int add(self, tuple tokens, object value) except -1
    cdef int replace(self, tuple tokens, object value) except -1
    cdef object remove(self, tuple tokens)
    cdef int perform(self, dict operation) except -1

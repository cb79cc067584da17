"""How much is left of the C stack of the current thread."""

cdef int descend() except -1

cdef bint has_room()

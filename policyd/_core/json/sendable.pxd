"""Whether a string has half of a surrogate pair, which UTF-8 cannot represent."""

cpdef str unsendable(list operations)

cdef bint has_surrogate(str text) except -1

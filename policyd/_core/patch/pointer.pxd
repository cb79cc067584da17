"""JSON Pointer (RFC 6901)."""


cdef str escape(str token)
cpdef str pointer_of(list path)
cpdef tuple tokens_of(str pointer)
cdef Py_ssize_t index_of(str token) except -2

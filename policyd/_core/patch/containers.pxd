"""What one step of a JSON Patch path does to an object or a list."""

cdef tuple segments(str path)          # decoded, without what stands before the first slash
cdef str unknown_escape(str text)      # the escape of Go's quoting that JSON does not know, or ""

# These raise KeyProblem.
cdef object member(object container, str key)
cdef int insert(object container, str key, object value) except -1
cdef int assign(object container, str key, object value) except -1
cdef int delete(object container, str key) except -1

cdef bint equal(object one, object other) except -1

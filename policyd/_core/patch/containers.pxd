"""Operations on one object or list, for one segment of a JSON Patch path."""

cdef tuple segments(str path)          # decoded, without the part before the first slash
cdef str unknown_escape(str text)      # the escape in Go's quoting that is not valid in JSON, or ""

# The results of ``segments`` by path, for paths without such an escape.
cdef dict known_paths

# These functions raise KeyProblem.
cdef object member(object container, str key)
cdef int insert(object container, str key, object value) except -1
cdef int assign(object container, str key, object value) except -1
cdef int delete(object container, str key) except -1

cdef bint equal(object one, object other) except -1

"""JSON Patch as the API server applies it."""


cdef class PatchOperation:
    cdef readonly str op
    cdef readonly str path
    cdef readonly str source
    cdef readonly object value


cdef list operations_in(list items, tuple sources, list values)

cdef object patched(list operations, object document)

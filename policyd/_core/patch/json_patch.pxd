"""JSON Patch as the API server applies it."""

from policyd._core.values.read_trees cimport ReadTrees


cdef class PatchOperation:
    cdef readonly str op
    cdef readonly str path
    cdef readonly str source
    cdef readonly object value


cdef list operations_in(list items, ReadTrees sources, list values)

cpdef object apply(list operations, object document)

"""The direct form of ApplyConfiguration: converts, checks, merges ``Object{...}`` in one pass."""

from policyd._core.schema.edits cimport Edits
from policyd._core.schema.types cimport Field, SchemaType
from policyd._core.values.read_trees cimport ReadTrees
from policyd._core.values.types cimport StructValue


cdef class Configured:
    cdef Edits edits
    cdef ReadTrees sources
    cdef Py_ssize_t room    # bytes that the value may have yet

    cdef dict struct(self, StructValue value, str expected, dict live, SchemaType type)
    cdef dict members(self, dict given, str expected, dict live, SchemaType type)
    cdef object member(
        self, str name, object item, object before, str expected, Field field, SchemaType type
    )
    cdef list items(self, list given, str expected, list live, SchemaType type)
    cdef object converted(self, str name, object item, str expected)
    cdef int check(self, object value, Py_ssize_t size, Field field) except -1


cdef dict configured(StructValue value, dict live, Field root, ReadTrees sources, Edits edits)

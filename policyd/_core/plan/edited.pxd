"""What follows a merge, in one pass: decoding as Go does, and the operations of the change."""

from policyd._core.patch.diff cimport Differ
from policyd._core.schema.decode cimport Decoder
from policyd._core.schema.edits cimport Edit
from policyd._core.schema.types cimport Field, SchemaType


cdef class EditedObject:
    cdef Decoder decoder
    cdef Differ differ      # has the operations so far

    cdef dict members(self, Edit last, dict old, dict new, SchemaType type)
    cdef dict fresh(self, dict out, Edit edit, dict new, SchemaType type, str here)
    cdef dict kept(self, dict out, Edit edit, dict old, dict new, SchemaType type)
    cdef object member(self, str name, Edit below, object was, object member, SchemaType type)
    cdef object decoded(self, str name, object member, object was, SchemaType type)
    cdef list items(self, Edit last, list old, list new, SchemaType type)


cdef object decoded_edit(
    Edit edit, dict old, dict new, Field root, bint convert, object keys, list operations
)

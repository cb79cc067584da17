"""What follows a merge, in one pass: decoding as Go does, and the operations of the change."""

from policyd._core.schema.edits cimport Edit
from policyd._core.schema.types cimport Field


cdef object decoded_edit(
    Edit edit, dict old, dict new, Field root, bint convert, object keys, list operations
)

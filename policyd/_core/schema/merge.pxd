"""The merge functions that overlays also use, and the notes of changes."""

from policyd._core.schema.types cimport SchemaType

cdef Edit of_items(Edit edit, list live, list out, SchemaType type)

cdef object merge_value(object live, object patch, SchemaType type, Edits edits)

cdef class Edit:
    cdef object name
    cdef bint added     # whether the key is new
    cdef Edit below     # the last change of the new value; None: the value was replaced
    cdef Edit before    # the change before this one; None: this is the first


cdef class Edits:
    cdef Edit latest

    cdef Edit take(self)


cdef Edit new_edit(object name, bint added, Edit below, Edit before)

cdef list all_edits(Edit last)

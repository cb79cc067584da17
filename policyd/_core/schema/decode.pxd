"""Decoding of changed objects as Go does it."""

from policyd._core.schema.types cimport Field, SchemaType

cdef object ABSENT  # no value at all


cdef class Decoder:
    cdef bint convert
    cdef bint as_sent       # no mutation printed the tree
    cdef bint noting        # whether to track the path for the messages: only after an error
    cdef list path          # names and list indexes from the root
    cdef list places        # only the names of struct fields, including embedded structs
    cdef str struct         # Go's name of the innermost struct
    cdef str failure        # the first wrong type takes precedence over unknown fields
    cdef bint over          # Go does not continue after the failure
    cdef list unknown
    cdef set sent           # second pass: fields that the schemas lack, but the object already had
    cdef set written        # second pass: ids of the maps that the patch left alone

    cdef bint failed(self)
    cdef object value(self, object new, object old, Field field)
    cdef object member(self, str name, object member, object was, SchemaType type)
    cdef object members(self, dict new, object old, SchemaType type)
    cdef object items(self, list new, object old, SchemaType type)
    cdef object leaf(self, object new, Field field)
    cdef object octets(self, list new, Field field)
    cdef dict ordered(self, dict members)
    cdef int end(self) except -1
    cdef object number(self, object new, Field field)
    cdef object fail(self, object new, Field field, str go=*)


cdef Decoder new_decoder(bint convert, bint noting)

cdef dict with_member(dict out, dict new, object name, object member, object after)

cdef bint is_omitted(object value, Field field)

cdef object decoded_or_none(object new, object old, Field root, bint convert)

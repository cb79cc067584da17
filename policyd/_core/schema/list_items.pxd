"""Keys of list items, and their order in a merge."""

from policyd._core.schema.types cimport SchemaType

cdef object ABSENT  # no value at all

cpdef object item_key(object item, SchemaType type)
cdef str key_label(object item, SchemaType type)
cdef list keys_of(list items, SchemaType type)

cdef bint paired(list live_keys, list patch_keys) except -1
cdef list pairing(list live_keys, list patch_keys)
cdef list in_front(list live_keys, list patch_keys)
cdef bint same_items(list one, list other)

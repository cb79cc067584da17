"""Functions of the merge that overlays use too: keys and order of list items."""

from policyd._core.schema.edits cimport Edit, Edits
from policyd._core.schema.types cimport SchemaType

cdef object ABSENT  # no value at all

cdef list value_problems(object value, SchemaType type, bint live, bint atomics)

cdef object item_key(object item, SchemaType type)
cdef list keys_of(list items, SchemaType type)

cdef list pairing(list live_keys, list patch_keys)

cdef list in_front(list live_keys, list patch_keys)

cdef bint same_items(list one, list other)

cdef Edit of_items(Edit edit, list live, list out, SchemaType type)

cdef object merge_value(object live, object patch, SchemaType type, Edits edits)

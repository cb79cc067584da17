"""Functions of the merge that overlays use too: keys and order of list items."""

from policyd._core.schema.edits cimport Edit, Edits
from policyd._core.schema.types cimport SchemaType

cdef object ABSENT  # no value at all

# What does not fit the schema: [(path, message)], or None. ``live``: duplicates are allowed.
# ``atomics``: also returns the paths of atomic values, with None as message.
cdef list value_problems(object value, SchemaType type, bint live, bint atomics)

# The key of an item: hashable, equal for equal keys. Raises MergeError.
cdef object item_key(object item, SchemaType type)
cdef list keys_of(list items, SchemaType type)

# The items of a merged list in order: pairs of indexes in the live list and in the patch. -1 if one
# of them does not have the item, or if the patch replaces duplicates of the live list.
cdef list pairing(list live_keys, list patch_keys)

# The same with new items first and the others where they are in the live list.
cdef list in_front(list live_keys, list patch_keys)

# Whether two lists contain the same objects (by identity).
cdef bint same_items(list one, list other)

# ``edit`` if it is an Edit of this list (the items keep their places and unique names), else None.
cdef Edit of_items(Edit edit, list live, list out, SchemaType type)

# The merged tree; shares unchanged values with ``live``. Raises MergeError.
cdef object merge_value(object live, object patch, SchemaType type, Edits edits)

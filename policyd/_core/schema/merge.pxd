"""What merging by schema shares with overlays: how list items are told apart and ordered."""

from policyd._core.schema.types cimport SchemaType

cdef object ABSENT  # no value at all

# What does not fit the schema: [(path, message)], or None. ``live``: duplicates are no problem.
# ``atomics``: what only merges as a whole is noted, too, with None for a message.
cdef list value_problems(object value, SchemaType type, bint live, bint atomics)

# What tells an item from others: hashable, equal for equal keys. Raises MergeError.
cdef object item_key(object item, SchemaType type)
cdef list keys_of(list items, SchemaType type)

# The items of a merged list in their order: pairs of places in the live list and in the patch, -1
# where one of them has no such item, or where duplicates of the live list give way to the patch.
cdef list pairing(list live_keys, list patch_keys)

# Whether two lists hold the very same objects.
cdef bint same_items(list one, list other)

"""Indexes and keys of lists and maps, and those that Go's refuse."""

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport CelError

cdef list NO_ITEMS  # the empty list of expressions; its identity marks it as not read
cdef object element(list items, object key)

cdef CelError refused(Activation act, object container, object key)

cdef str qualifier_of(Activation act, object key, bint read)

"""Indexes and keys of lists and maps, and what Go's do not take."""

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport CelError

cdef list NO_ITEMS  # the empty list that expressions make: by its identity, not read. In no object
cdef object element(list items, object key)

cdef CelError refused(Activation act, object container, object key)

cdef str qualifier_of(Activation act, object key, bint read)

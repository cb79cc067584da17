"""CEL's equality and order over all types, and lookups in maps."""

from policyd._core.values.activation cimport Activation

cdef object equal(Activation act, object left, object right)

cdef int compare(Activation act, object left, object right) except -2

cdef object find(dict entries, object key)

cdef object contains(Activation act, object container, object value)

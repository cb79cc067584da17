"""CEL's equality and order over all types, and lookups in maps."""

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport CelError

cdef object equal(Activation act, object left, object right)

cdef object unlike(Activation act, object container, object other)

cdef int compare(Activation act, object left, object right) except -2

cdef object find(dict entries, object key)

cdef object contains(Activation act, object container, object value)

cdef CelError no_key(Activation act, object value)

cdef str go_name_of(Activation act, object value)

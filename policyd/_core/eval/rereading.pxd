"""How cel-go converts an optional that a name or a chain evaluates to."""

from policyd._core.values.types cimport Optional

cdef object reread(Optional value)
cdef object reread_held(object held)

cdef object native_string(object value)
cdef str native_type(object value)

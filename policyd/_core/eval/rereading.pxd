"""What cel-go makes of an optional that a name or a chain gives."""

from policyd._core.values.types cimport Optional

# The optional after cel-go has taken its value out and put it in again.
cdef object reread(Optional value)
# The value after the same, or a CelError.
cdef object reread_held(object held)

# The text that a value is once it is taken out of CEL, None if it is another value: types are their
# names, and optionals what they hold.
cdef object native_string(object value)
# The Go type that a value has in Kubernetes once it is taken out of CEL.
cdef str native_type(object value)

"""How cel-go converts an optional that a name or a chain evaluates to."""

from policyd._core.values.types cimport Optional

# The optional after cel-go has converted its value to Go and back.
cdef object reread(Optional value)
# The value after the same conversion, or a CelError.
cdef object reread_held(object held)

# The string that a value becomes when it leaves CEL, None if it does not become a string: a type
# becomes its name, an optional the value it holds.
cdef object native_string(object value)
# The Go type that a value has in Kubernetes when it leaves CEL.
cdef str native_type(object value)

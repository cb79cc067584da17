"""CEL's run-time errors. They are values, absorbed by ``&&`` and ``||``, never raised."""


cdef class CelError:
    """``message`` is cel-go's text. It is put together only when somebody reads it."""
    cdef str text
    cdef object detail  # a value printed after the text, or MISSING


# What a library function returns when the arguments are not those of its signature; the call node
# makes the message of it.
cdef CelError NO_OVERLOAD
cdef CelError NO_SUCH_OVERLOAD  # "no such overload", from an operator that refuses its operands
cdef CelError INTEGER_OVERFLOW
cdef CelError UNSIGNED_OVERFLOW
cdef CelError DIVISION_BY_ZERO
cdef CelError MODULUS_BY_ZERO
cdef CelError DURATION_OVERFLOW
cdef CelError TIMESTAMP_OVERFLOW

cdef CelError error(str text)                      # a text of its own
cdef CelError error_about(str text, object detail)  # text + the value as CEL prints it
cdef CelError not_bool(object value)               # a CelError itself, else "no such overload"
cdef CelError no_such_key(object key)
cdef CelError index_out_of_bounds(object index)
cdef CelError no_conversion(object value, str target)  # type conversion error from 'a' to 'b'

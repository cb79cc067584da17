"""CEL's run-time errors. They are values that ``&&`` and ``||`` may absorb; they are never raised.
"""


cdef class CelError:
    cdef str text
    cdef object detail  # a value that is printed after the text, or MISSING


# A library function returns it if the arguments do not fit its signature. The call node creates the
# message.
cdef CelError NO_OVERLOAD
cdef CelError NO_SUCH_OVERLOAD  # "no such overload": an operator does not support its operands
cdef CelError INTEGER_OVERFLOW
cdef CelError UNSIGNED_OVERFLOW
cdef CelError DIVISION_BY_ZERO
cdef CelError MODULUS_BY_ZERO
cdef CelError TIMESTAMP_OVERFLOW

cdef CelError error(str text)                      # with this message
cdef CelError not_bool(object value)               # a CelError itself, else "no such overload"
cdef CelError no_such_key(object key)
cdef CelError index_out_of_bounds(object index)
cdef CelError no_conversion(object value, str target)  # type conversion error from 'a' to 'b'

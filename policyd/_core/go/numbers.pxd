"""Numbers as Go reads and makes them."""

# ParseFloat: the double; None for what is none, or is out of range.
cdef object parse_double(str text)
# ParseInt or ParseUint with base 10: an int of any size up to LONGEST digits, None for what is
# none.
cdef object parse_integer(str text, bint signed)
# An int as a double, and ten to a power.
cdef double to_double(object number) except? -1
cdef double power_of_ten(object exponent) except? -1

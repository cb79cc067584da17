"""Numbers as Go parses and computes them."""

# ParseFloat: the double; None if the string is not a number or out of range.
cdef object parse_double(str text)
# ParseInt or ParseUint with base 10: an int of any size up to LONGEST digits; None if the string is
# not an integer.
cdef object parse_integer(str text, bint signed)
# An int as a double; a power of ten.
cdef double to_double(object number) except? -1
cdef double power_of_ten(object exponent) except? -1

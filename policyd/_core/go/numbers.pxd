"""Numbers as Go parses and computes them."""

cdef object parse_double(str text)
cdef object parse_integer(str text, bint signed)
cdef double to_double(object number) except? -1
cdef double power_of_ten(object exponent) except? -1

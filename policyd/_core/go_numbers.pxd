"""Numbers as Go's strconv reads them."""

# ParseFloat: the double; None for what is none, or is out of range.
cdef object parse_double(str text)
# ParseInt or ParseUint with base 10: an int of any size up to LONGEST digits, None for what is
# none.
cdef object parse_integer(str text, bint signed)

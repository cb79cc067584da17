"""Numbers and strings as Go prints them."""

cdef dict ESCAPES  # the escapes of strconv.Quote by character


cdef str print_fixed(double value, Py_ssize_t precision)
cpdef str quote(str text)
cdef str shown(str text)
cdef str trim_space(str text)
cdef str parse_int(str text, long long* out)

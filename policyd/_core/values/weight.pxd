"""How many values a CEL value consists of."""

cdef bint has_more_values(object value, Py_ssize_t most) except -1

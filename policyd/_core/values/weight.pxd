"""How many values a CEL value consists of."""

# Whether it has more values than that, each occurrence counted: a list may contain the object many
# times. All characters of strings together have at most 32 times that.
cdef bint has_more_values(object value, Py_ssize_t most) except -1

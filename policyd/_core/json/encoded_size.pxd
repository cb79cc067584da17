"""The bytes that values take as JSON."""

# What a value of JSON or CEL takes, counted until it is more than the limit.
cdef Py_ssize_t value_bytes(object value, Py_ssize_t limit) except -1

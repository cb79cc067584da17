"""The size of values as JSON, in bytes."""

# The size of a JSON or CEL value. The count stops above the limit.
cdef Py_ssize_t value_bytes(object value, Py_ssize_t limit) except -1
# The size of the operations of a patch. The count stops above the limit.
cdef Py_ssize_t operation_bytes(list operations, Py_ssize_t limit) except -1

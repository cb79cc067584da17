"""The size of values as JSON, in bytes."""

cpdef Py_ssize_t value_bytes(object value, Py_ssize_t limit) except -1
cpdef Py_ssize_t operation_bytes(list operations, Py_ssize_t limit) except -1

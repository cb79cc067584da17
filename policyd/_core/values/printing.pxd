"""Values as strings."""

cdef str string_of(object value)  # as CEL does
cdef str printed(object value)    # as Go's %v does
cdef str quoted_key(object key)   # as Go's %q does
cdef str key_type(object key)     # the Go type of a key that is not a string

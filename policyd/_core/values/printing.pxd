"""Values as strings."""

cdef str string_of(object value)  # as CEL does
cdef str printed(object value)    # as Go's %v does

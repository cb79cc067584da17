"""CEL values as Go prints them, for some messages of cel-go."""

cdef str printed(object value)

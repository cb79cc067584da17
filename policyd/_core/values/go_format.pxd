"""CEL values as Go prints them, for some messages of cel-go."""

# Go's %v. Lists are assumed to be parts of objects: their elements print as Go values. Never fails.
cdef str printed(object value)

"""How Go prints a value of CEL: the texts inside a few of cel-go's messages."""

# Go's %v. Lists are taken for parts of objects: what they hold is printed as Go's own. Never fails.
cdef str printed(object value)

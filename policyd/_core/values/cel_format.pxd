"""How CEL prints values: ``string(x)`` and the values inside error texts."""

# What string(x) gives where CEL has it, else the form that cel-go uses in messages. Never fails.
cdef str string_of(object value)
cdef str double_string(double value)  # Go's %g with the shortest digits that read back

"""CEL values as strings: ``string(x)``, and values in error messages."""

# The result of string(x) if CEL defines it, otherwise the form that cel-go prints. Never fails.
cdef str string_of(object value)
cdef str double_string(double value)  # Go's %g with the fewest exact digits

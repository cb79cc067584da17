"""CEL values as strings: ``string(x)``, and values in error messages."""

cdef str string_of(object value)
cdef str double_string(double value)  # Go's %g with the fewest exact digits

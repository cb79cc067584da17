"""How CEL prints values: ``string(x)`` and the values inside error texts."""

from libc.stdint cimport int64_t

from policyd._core.values cimport Timestamp

# What string(x) gives where CEL has it, else the form that cel-go uses in messages. Never fails.
cdef str text_of(object value)
cdef str double_text(double value)  # Go's %g with the shortest digits that read back
cdef str duration_text(int64_t nanos)
cdef str timestamp_text(Timestamp value)

"""``+`` of durations."""

from policyd._core.values.activation cimport Activation

cdef object add_durations(Activation act, object left, object right)

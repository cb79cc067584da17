"""``+`` of numbers, strings, bytes and lists."""

from policyd._core.values.activation cimport Activation

cdef object add(Activation act, object left, object right)

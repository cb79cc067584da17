"""Decoding of changed objects as Go does it."""

from policyd._core.schema.types cimport Field

# The object as Go prints it; None if it cannot be decoded. ``convert``: as after a merge.
cdef object decoded_or_none(object new, object old, Field root, bint convert)

"""Pairs of items of two lists that are versions of the same item."""

cdef object guessed(list old, list new)
cdef object identified(list old, list new, tuple fields)
cdef list kept_pairs(list old, list new)
cdef list equal_pairs(list old, list new, int depth)

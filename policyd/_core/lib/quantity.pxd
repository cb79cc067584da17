"""Kubernetes quantities: parsing, order, and CEL values."""

from policyd._core.values.types cimport Opaque


cdef class Quantity(Opaque):
    """``number * 10**scale``, as Kubernetes represents it: its behaviour depends on its notation.
    """

    cdef object number   # int, of any size
    cdef object scale    # int
    cdef bint decimal    # an arbitrary decimal, which never counts as an integer
    cdef bint computed   # result of add() or sub(): an error on the right of ==
    cdef str notation    # how it is printed: DECIMAL, BINARY or EXPONENT
    cdef str written     # the original string, if Kubernetes keeps it


# The Quantity, or Kubernetes' error message.
cdef object parse(str text)
# -1, 0 or 1
cdef int order(Quantity left, Quantity right) except -2

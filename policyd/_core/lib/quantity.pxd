"""Kubernetes quantities: read, compared, and as values of CEL."""

from policyd._core.values.types cimport Opaque


cdef class Quantity(Opaque):
    """``number * 10**scale``, as Kubernetes holds it: what it can do depends on how it was
    written."""

    cdef object number   # int, of any size
    cdef object scale    # int
    cdef bint decimal    # an arbitrary decimal, which is never an integer
    cdef bint computed   # made by add() or sub(): refused at the right of ==
    cdef str notation    # how it is printed: DECIMAL, BINARY or EXPONENT
    cdef str written     # its text, where Kubernetes keeps that


# The Quantity, or the text of Kubernetes' error.
cdef object parse(str text)
# -1, 0 or 1
cdef int order(Quantity left, Quantity right) except -2

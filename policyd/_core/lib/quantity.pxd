"""Kubernetes quantities: parsing, order, and CEL values."""

from policyd._core.values.types cimport Opaque


cdef class Quantity(Opaque):
    cdef object number   # int, of any size
    cdef object scale    # int
    cdef bint decimal    # an arbitrary decimal, which never counts as an integer
    cdef bint computed   # result of add() or sub(): an error on the right of ==
    cdef str notation    # how it is printed: DECIMAL, BINARY or EXPONENT
    cdef str written     # the original string, if Kubernetes keeps it


cdef object parse(str text, bint since_1_38=*)
cdef int order(Quantity left, Quantity right) except -2

"""List, map and struct literals that are not constants."""

from policyd._core.values.activation cimport Activation
from policyd._core.eval.nodes cimport Node


cdef class ListNode(Node):
    cdef tuple elements
    cdef frozenset optional  # indexes of the elements marked with ?


cdef class MapNode(Node):
    cdef tuple keys
    cdef tuple values
    cdef frozenset optional


cdef class StructNode(Node):
    cdef str type_name
    cdef tuple names
    cdef tuple values
    cdef frozenset optional
    cdef bint of_patch    # a type that mutations create
    cdef bint operation   # JSONPatch

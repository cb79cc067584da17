"""A planned expression and the variables of a policy."""

from policyd._core.eval.nodes cimport Node
from policyd._core.values.activation cimport Activation

cdef class Program:
    cdef readonly str text
    cdef readonly object result_type
    cdef readonly int nesting  # maximum nesting of its value, not counting values that it read
    cdef readonly bint hands_on  # its value may contain lists and maps that it read
    cdef bint since_1_38  # see Activation
    cdef bint rereads  # rereads optionals, as Kubernetes did before 1.37 (rereading.pyx)
    cdef readonly object layout  # eval/slots.Slots: slot numbers by name, number of slots
    cdef Node root

    cdef object run(self, Activation act)

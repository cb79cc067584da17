"""The trees that an expression could read, and the forms in which it reads them."""

from policyd._core.values.activation cimport Activation, Form


cdef class ReadTrees:
    cdef tuple trees
    cdef list reads        # results of reads.NAME whose ids are not collected yet, or None
    cdef Activation act    # of the expression, if values of built-in kinds are Go's
    cdef bint hands_on     # whether its value may contain a list or map that it read
    cdef bint since_1_38   # of the activation
    cdef set known         # ids of the containers of the trees, set at first use

    cdef bint came_as_json(self, object container) except -1
    cdef Form form(self, object container) except *
    cdef str go_type(self, object container)


cdef ReadTrees read_trees(tuple trees, list reads, Activation act, bint hands_on)
cdef str unsuitable(object container, ReadTrees sources)
cdef object go_value(object container, ReadTrees sources)

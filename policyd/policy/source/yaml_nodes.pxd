"""C types of yaml_nodes.py."""

cimport cython


cdef dict _WORDS
cdef frozenset _NUMERIC


@cython.locals(found=Py_ssize_t, char=Py_UCS4)
cdef bint _is_flat(str text, budget)


cdef class _Constructor:
    cdef Py_ssize_t _nodes
    cdef dict _names
    cdef _budget

    cpdef build(self, node)

    @cython.locals(own=dict, merged=dict, places=dict, tag=str)
    cdef dict _mapping(self, node)


cpdef tuple scalar(node)


@cython.locals(word=tuple, plain=str)
cdef tuple _plain(str text)
cdef _json_number(node, value)

"""C types of sizes.py."""

cimport cython


cdef Py_ssize_t _ENDLESS


@cython.locals(sizes=dict, above=set, once=set, waiting=list, size=tuple, nested=bint)
cpdef size_of(root, most, bint aliases)
cdef _note(node, set once)
cdef list _parts(node)


@cython.locals(
    nodes=Py_ssize_t, characters=Py_ssize_t, levels=Py_ssize_t, deeper=Py_ssize_t, more=tuple
)
cdef tuple _sum(node, dict sizes)

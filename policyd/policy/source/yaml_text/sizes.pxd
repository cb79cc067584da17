"""C types of sizes.py."""

cimport cython


@cython.locals(sizes=dict, above=set, once=set, waiting=list)
cpdef size_of(root, most, bint aliases)
cdef _note(node, set once)
cdef list _parts(node)


@cython.locals(levels=Py_ssize_t)
cdef _sum(node, dict sizes)
cdef _checked(node, size, most)

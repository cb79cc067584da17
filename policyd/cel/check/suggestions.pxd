"""C types of suggestions.py."""

cimport cython


@cython.locals(
    rows=Py_ssize_t, columns=Py_ssize_t, i=Py_ssize_t, j=Py_ssize_t, threshold=Py_ssize_t,
    least=Py_ssize_t, before=list, above=list, row=list
)
cpdef Py_ssize_t edit_distance(str a, str b) except -1

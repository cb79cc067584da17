"""C types of lexer.py."""

cimport cython


cdef class Token:
    cdef readonly str kind
    cdef readonly str text
    cdef readonly Py_ssize_t pos


@cython.locals(tokens=list, issues=list, pos=Py_ssize_t, end=Py_ssize_t, size=Py_ssize_t)
cpdef tuple tokenize(str text)


@cython.locals(
    tokens=list,
    issues=list,
    depth=Py_ssize_t,
    pos=Py_ssize_t,
    end=Py_ssize_t,
    size=Py_ssize_t,
    kind=str,
)
cpdef Py_ssize_t closing_brace(str text, Py_ssize_t start) except -2


@cython.locals(char=Py_UCS4, after=Py_UCS4, end=Py_ssize_t, kind=str, found=str)
cdef Py_ssize_t _plain(str text, Py_ssize_t pos, Py_ssize_t size, list tokens) except -1
cdef bint _digit(Py_UCS4 char) noexcept
cdef bint _begins_name(Py_UCS4 char) noexcept
cdef Py_ssize_t _matched(str text, Py_ssize_t pos, list tokens, list issues) except -1

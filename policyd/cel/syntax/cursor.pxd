"""C types of cursor.py."""

from policyd.cel.syntax.lexer cimport Token


cdef class Cursor:
    cdef list _tokens
    cdef list _kinds
    cdef Py_ssize_t _next
    cdef Py_ssize_t _last

    cpdef str kind(self, Py_ssize_t ahead=*)
    cdef bint at(self, str kind) except -1
    cdef bint at_any(self, kinds) except -1
    cdef Token take(self)
    cdef Token accept(self, str kind)
    cdef Token expect(self, str kind)

"""C types of unify.py."""

cimport cython

from policyd.cel.types.types cimport Type, is_same, shared_type, unwrapped


cdef class Bindings:
    cdef dict _bound
    cdef list _trail

    cpdef bint assignable(self, Type to, Type given) except -1
    cpdef bint all_assignable(self, tuple first, tuple second) except -1

    @cython.locals(bound=Type, each=Type)
    cpdef Type substitute(self, Type t, bint free_to_dyn=*)
    cdef void _bind(self, Type param, Type to) except *

    @cython.locals(index=Py_ssize_t)
    cdef bint _pairs(self, tuple first, tuple second) except -1

    @cython.locals(stands=int)
    cdef bint _agree(self, Type first, Type second) except -1

    @cython.locals(known=Type, general=Type)
    cdef int _stands_for(self, Type param, Type t) except -1

    @cython.locals(known=Type, each=Type)
    cdef bint _occurs(self, Type param, Type within) except -1


cdef object _PRIMITIVE, _PARAM, _NULL, _TYPE, _DYN, _ERROR, _OPAQUE, _LIST, _MAP
cdef frozenset _NULLABLE
cdef int _YES, _BOUND_NO, _UNBOUND_NO

cpdef Type most_general(Type first, Type second)


@cython.locals(one=Type, other=Type, index=Py_ssize_t)
cdef bint _covers(Type first, Type second) except -1

"""C types of declarations.py."""

cimport cython

from policyd.cel.types.types cimport Type


cdef class OverloadDecl:
    cdef readonly str id
    cdef readonly str function
    cdef readonly bint member
    cdef readonly tuple args
    cdef readonly Type result
    cdef readonly tuple type_params


cdef class Scope:
    cdef readonly object variables
    cdef readonly object functions
    cdef readonly object provider
    cdef readonly object version

    cpdef Type variable(self, str name)
    cpdef Type type_name(self, str name)


cdef class Names:
    cdef Scope _scope
    cdef bint _dot_is_global
    cdef list _locals

    cpdef void enter(self, dict variables) except *
    cpdef void leave(self) except *

    @cython.locals(names=dict, dotted=bint)
    cpdef tuple variable(self, str name)
    cpdef tuple struct(self, str name)

    @cython.locals(names=dict)
    cdef Type _local(self, str name)
    cpdef bint hides(self, str name) except -1
    cpdef tuple function(self, str name)


cdef class TypeVariables:
    cdef Py_ssize_t _next

    @cython.locals(number=Py_ssize_t)
    cpdef Type fresh(self)
    cpdef void skip(self, OverloadDecl overload) except *

    @cython.locals(key=tuple, known=tuple)
    cpdef tuple instantiate(self, OverloadDecl overload)
    cdef tuple _instance(self, OverloadDecl overload)


cdef object _PARAM
cdef tuple _FRESH
cdef dict _INSTANCES
cdef Type _rename(Type t, dict names)

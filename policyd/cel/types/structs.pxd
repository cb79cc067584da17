"""C types of structs.py."""

from policyd.cel.types.types cimport Type, shared_type

cdef class Structs:
    cdef readonly dict known
    cdef readonly bint patches

    cpdef Type find(self, str name)
    cpdef Type field(self, Type struct, str name)


cpdef Type variable_type(Type t)

"""C types of types.py."""

cimport cython


cdef class Type:
    cdef readonly str name
    cdef readonly tuple params
    cdef readonly object kind
    cdef readonly Py_ssize_t size
    cdef readonly bint parametric
    cdef readonly Py_hash_t _hash


cdef object _kind(str name, bint parametric)
cdef dict _MADE
cdef Py_ssize_t _MOST_MADE

cpdef bint is_same(Type one, Type other) except -1


@cython.locals(key=tuple, found=Type)
cpdef Type shared_type(str name, tuple params=*)
cpdef Type list_of(Type element)
cpdef Type map_of(Type key, Type value)
cpdef Type optional_of(Type value)
cpdef Type unwrapped(Type t)
cpdef bint is_optional(Type t)
cpdef bint is_patch_object(str name)

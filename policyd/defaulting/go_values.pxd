"""C types of go_values.py."""

cimport cython

from policyd._core.schema.types cimport Field, SchemaType


cdef class _Absent:
    cdef readonly list structs
    cdef readonly list shown


cdef unsigned int _STRUCT, _MAP, _LIST, _LEAF
cdef dict _ZEROS
cdef dict _TYPES


@cython.locals(kind=SchemaType, entry=Field, item=Field, decoding=cython.uint)
cpdef decode(value, Field field)


@cython.locals(entry=SchemaType, item=SchemaType)
cpdef printed(value, SchemaType kind)


@cython.locals(decoding=cython.uint)
cpdef zero(Field field)
cdef _Absent _absent(SchemaType kind)


@cython.locals(field=Field)
cdef dict _struct(dict value, SchemaType kind)


@cython.locals(field=Field)
cdef dict _printed_struct(dict value, SchemaType kind)


@cython.locals(decoding=cython.uint)
cdef bint _is_omitted(value, Field field) except -1
cdef _leaf(value, SchemaType kind)
cdef dict _object(value)
cpdef Field inner(Field field)
cpdef copied(value)

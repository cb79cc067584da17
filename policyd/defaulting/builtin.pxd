"""C types of builtin.py."""

cimport cython

from policyd._core.schema.types cimport Field, SchemaType
from policyd.defaulting.go_values cimport decode, inner, printed


cdef unsigned int _STRUCT, _MAP


cdef class _Rules:
    cdef readonly list values
    cdef readonly list functions
    cdef readonly bint rounds


cdef _Rules _rules(SchemaType kind, version)


@cython.locals(rules=_Rules, schema=Field, below=Field, item=SchemaType, entry=SchemaType)
cdef _apply(value, SchemaType kind, version)

"""Values of mutation expressions as JSON."""

from policyd._core.values.types cimport StructValue

cdef object json_of(object value, Py_ssize_t size, tuple sources)

cdef dict inner_of(StructValue value, str expected, tuple sources)

cdef str path_of(str struct, str name)

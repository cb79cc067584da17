"""Values of mutation expressions as JSON."""

from policyd._core.values.types cimport StructValue

# ``json_value`` of a value whose size as JSON is known: ``size`` bytes (-1: unknown).
cdef object json_of(object value, Py_ssize_t size, tuple sources)

# ``object_value`` in the same way.
cdef dict object_of(StructValue value, tuple sources, Py_ssize_t size)

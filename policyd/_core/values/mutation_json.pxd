"""Values of mutation expressions as JSON."""

from policyd._core.values.types cimport StructValue

# ``json_value`` of a value whose size as JSON is known: ``size`` bytes (-1: unknown).
cdef object json_of(object value, Py_ssize_t size, tuple sources)

# ``object_value`` of an ``Object{...}`` in a field, whose type name must be ``expected``.
cdef dict inner_of(StructValue value, str expected, tuple sources)

# The type name of an ``Object{...}`` in a field: ``Object.spec`` for ``spec`` of ``Object``.
cdef str path_of(str struct, str name)

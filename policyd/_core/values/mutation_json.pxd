"""Values of mutation expressions as JSON."""

from policyd._core.values.read_trees cimport ReadTrees
from policyd._core.values.types cimport StructValue

cdef object json_of(object value, Py_ssize_t size, ReadTrees sources)

cdef dict inner_of(StructValue value, str expected, ReadTrees sources)

cdef str path_of(str struct, str name)

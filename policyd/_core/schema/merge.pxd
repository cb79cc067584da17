"""Functions of the merge that overlays use too."""

from policyd._core.schema.edits cimport Edit, Edits
from policyd._core.schema.types cimport SchemaType

cdef Edit of_items(Edit edit, list live, list out, SchemaType type)

cdef object merge_value(object live, object patch, SchemaType type, Edits edits)

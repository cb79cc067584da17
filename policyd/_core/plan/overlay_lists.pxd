"""Changes of lists."""

from policyd._core.plan.overlay_run cimport OverlayChange, OverlayRun
from policyd._core.schema.types cimport SchemaType


cdef class ItemChange(OverlayChange):
    cdef OverlayChange change
    cdef object key


cdef class ListChange(OverlayChange):
    cdef SchemaType type
    cdef tuple items
    cdef tuple removed
    cdef tuple each
    cdef str path
    cdef bint prepends

    cdef list keyed(self, list live, OverlayRun work)

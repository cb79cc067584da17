"""``Object{...}`` applied to an object in one pass: conversion, merge, decoding and comparison."""

from policyd._core.patch.diff cimport Differ
from policyd._core.schema.decode cimport Decoder
from policyd._core.schema.types cimport Field, SchemaType
from policyd._core.values.types cimport StructValue


cdef class Configured:
    """One change: fields of structs and entries of maps, of the object and of items of its lists
    that the value names in the same order. ``unusual``: it is something else, or something is
    wrong, and the result means nothing.
    """

    cdef Decoder decoder
    cdef Differ differ      # has the operations so far
    cdef tuple sources
    cdef Py_ssize_t room    # bytes that the value may have yet
    cdef bint unusual

    cdef dict struct(self, StructValue value, str expected, dict live, SchemaType type)
    cdef dict members(self, dict given, str expected, dict live, SchemaType type)
    cdef dict changed(
        self, dict out, dict live, str name, object item, str expected, SchemaType type
    )
    cdef object plain(
        self, object item, object before, str name, Field field, SchemaType type
    )
    cdef dict added(
        self, dict out, dict live, str name, object item, str expected, SchemaType type
    )
    cdef list items(self, list given, str expected, list live, SchemaType type)
    cdef bint same_items(self, list given, list live, SchemaType type)
    cdef object other(self)


# The object that a value makes of ``live``, decoded as Go does, and the operations that lead to it:
# they are added to ``operations``. ``live`` itself if nothing changes; None if it is unusual.
# ``keys`` are those of ``diff``, and must follow from ``root``.
cdef dict configured(
    StructValue value, dict live, Field root, tuple sources, object keys, list operations
)

"""Strings that JSON cannot carry."""

cdef bint has_surrogate(str text) except -1

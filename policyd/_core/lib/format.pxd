"""Formats that other libraries check too: the problems of a string, empty if it is valid."""

from policyd._core.values.activation cimport Activation

cdef list dns_label(Activation act, str text)
cdef list dns_subdomain(Activation act, str text)

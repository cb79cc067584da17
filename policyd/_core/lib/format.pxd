"""Formats that other libraries check as well: what is wrong with a text, nothing if it is fine."""

from policyd._core.values.activation cimport Activation

cdef list dns_label(Activation act, str text)
cdef list dns_subdomain(Activation act, str text)

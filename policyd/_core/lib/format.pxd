"""Formats that other libraries check as well: what is wrong with a text, nothing if it is fine."""


cdef list dns_label(str text)
cdef list dns_subdomain(str text)

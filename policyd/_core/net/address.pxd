"""IP addresses and prefixes as Go's net/netip reads them, without zones."""

from policyd._core.values.types cimport Opaque


cdef class IP(Opaque):
    cdef object number  # int
    cdef int bits       # 32 or 128


cdef class CIDR(Opaque):
    cdef IP address
    cdef int length


cdef object parse_address(str text)
cdef object parse_ip(str text)
cdef object parse_cidr(str text)
cdef IP masked(IP address, int length)
cdef CIDR cidr_of(IP address, int length)

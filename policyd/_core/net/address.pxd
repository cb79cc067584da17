"""IP addresses and prefixes as Go's net/netip reads them, without zones."""

from policyd._core.values.types cimport Opaque


cdef class IP(Opaque):
    """``net.IP``"""
    cdef object number  # int
    cdef int bits       # 32 or 128


cdef class CIDR(Opaque):
    """``net.CIDR``: an address, which may have bits after the prefix, and the length of the prefix.
    """
    cdef IP address
    cdef int length


# The IP (a zone is parsed and dropped), or Go's error message.
cdef object parse_address(str text)
# The IP or CIDR, or Kubernetes' error message.
cdef object parse_ip(str text)
cdef object parse_cidr(str text)
cdef IP masked(IP address, int length)
cdef CIDR cidr_of(IP address, int length)

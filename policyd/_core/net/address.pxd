"""IP addresses and prefixes as Go's net/netip reads them, without zones."""

from policyd._core.values.types cimport Opaque


cdef class IP(Opaque):
    """``net.IP``"""
    cdef object number  # int
    cdef int bits       # 32 or 128


cdef class CIDR(Opaque):
    """``net.CIDR``: an address, which may have bits beyond the prefix, and the prefix' length."""
    cdef IP address
    cdef int length


# The IP (a zone is read and dropped), or the text of Go's error
cdef object parse_address(str text)
# The IP or CIDR, or the text of Kubernetes' error.
cdef object parse_ip(str text)
cdef object parse_cidr(str text)
cdef IP masked(IP address, int length)
cdef CIDR cidr_of(IP address, int length)

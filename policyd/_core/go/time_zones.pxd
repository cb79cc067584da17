"""Time zones as the CEL functions name them."""

from libc.stdint cimport int32_t, int64_t


cdef str offset_at(str zone, int64_t seconds, int32_t* offset)

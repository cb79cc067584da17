"""Time zones as the CEL functions name them."""

from libc.stdint cimport int32_t, int64_t


# Seconds east of UTC that the zone ("Europe/Berlin", "+02:00", "") has at that moment, in `offset`;
# the text of Go's error where there is no such zone, else None.
cdef str offset_at(str zone, int64_t seconds, int32_t* offset)

"""Time zones as the CEL functions name them."""

from libc.stdint cimport int32_t, int64_t


# Sets `offset` to the seconds east of UTC of the zone ("Europe/Berlin", "+02:00", "") at this time.
# Returns None, or Go's error message if the zone does not exist.
cdef str offset_at(str zone, int64_t seconds, int32_t* offset)

"""The values of CEL as C sees them."""

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef object MISSING  # no value, such as a missing key or unset slot; expressions never see it


cdef class UInt:
    cdef readonly uint64_t value


cdef class Timestamp:
    cdef readonly int64_t seconds
    cdef readonly int32_t nanos
    cdef readonly int32_t offset  # seconds east of UTC; only for printing


cdef class Duration:
    cdef readonly int64_t nanos


cdef class Optional:
    cdef object held


cdef class TypeValue:
    cdef readonly str name


cdef class StructValue:
    cdef readonly str type_name
    cdef readonly dict fields


cdef class KeyedMap:
    cdef dict first
    cdef dict rest
    cdef dict asked

    cdef object under(self, object key)


cdef class MapKey:
    cdef readonly object value
    cdef tuple identity
    cdef Py_hash_t hashed


cdef class Opaque:
    cdef str type_name(self)
    cdef object equals(self, object other)
    cdef int64_t size(self)
    cdef str go_name(self)


cdef dict OPAQUE_GO_VALUES  # the Go types inside opaque values, by CEL name

cdef Optional NONE  # optional.none()

cdef UInt uint(uint64_t value)
cdef Timestamp timestamp(int64_t seconds, int32_t nanos, int32_t offset)
cdef Duration duration(int64_t nanos)
cdef Optional some(object value)

cdef object map_key(object value)
cdef object key_value(object key)

cdef str type_name(object value)

cdef int64_t size_of(object value) except -1

cdef str go_name(object value)

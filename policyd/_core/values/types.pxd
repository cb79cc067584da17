"""The values of CEL as C sees them.

JSON data is used as the decoder returns it: ``None bool int float str list dict``, and ``bytes``.
The classes here are for types that JSON does not have. All of them are immutable.

Maps are plain dicts. String and int keys are stored as they are; a bool or double key is wrapped in
``MapKey`` and a uint key is a ``UInt``, because in Python ``True == 1 == 1.0`` and in CEL they are
different keys. ``map_key`` converts a value to a key, ``key_value`` converts a key to a value.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef object MISSING  # no value: a missing key, an unset slot. Expressions never see it


cdef class UInt:
    """A CEL uint."""
    cdef readonly uint64_t value


cdef class Timestamp:
    """A point in time: seconds since 1970 UTC, 0 <= nanos < 1e9, and the offset in its string."""
    cdef readonly int64_t seconds
    cdef readonly int32_t nanos
    cdef readonly int32_t offset  # seconds east of UTC; only for printing


cdef class Duration:
    """A duration in nanoseconds."""
    cdef readonly int64_t nanos


cdef class Optional:
    """``optional.of(value)``, or ``optional.none()`` if held is MISSING."""
    cdef object held


cdef class TypeValue:
    """A type as a value: ``type(1)``, ``int``."""
    cdef readonly str name


cdef class StructValue:
    """``Object.spec{replicas: 1}``: fields in the order of the expression."""
    cdef readonly str type_name
    cdef readonly dict fields


cdef class MapKey:
    """Any other value as a map key."""
    cdef readonly object value
    cdef tuple identity
    cdef Py_hash_t hashed


cdef class Opaque:
    """Base of the types without fields: quantities, URLs, addresses ..."""
    cdef str type_name(self)
    # True, False or a CelError
    cdef object equals(self, object other)
    # the size as cel-go's actualSize counts it
    cdef int64_t size(self)
    cdef str go_name(self)


cdef Optional NONE  # optional.none()

cdef UInt uint(uint64_t value)
cdef Timestamp timestamp(int64_t seconds, int32_t nanos, int32_t offset)
cdef Duration duration(int64_t nanos)
cdef Optional some(object value)

cdef object map_key(object value)
cdef object key_value(object key)

# The CEL type name of any value: "int", "list", "google.protobuf.Timestamp", ...
cdef str type_name(object value)

# cel-go's actualSize: code points, bytes, elements or entries; 1 for everything else.
cdef int64_t size_of(object value) except -1

# The name of the Go type that cel-go uses for it, for two error messages.
cdef str go_name(object value)

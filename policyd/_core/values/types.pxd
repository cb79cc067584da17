"""The values of CEL as C sees them.

JSON data is used as the decoder made it: ``None bool int float str list dict``, and ``bytes``.
The classes here are only for what JSON lacks. All of them are immutable.

Maps are plain dicts. String and int keys are themselves; a bool or double key is wrapped in ``Key``
and a uint key is a ``UInt``, because in Python ``True == 1 == 1.0`` and CEL keeps them apart. Use
``map_key`` on the way in and ``key_value`` on the way out.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef object MISSING  # no value at all: an absent key, an unset slot; never seen by an expression


cdef class UInt:
    """A CEL uint."""
    cdef readonly uint64_t value


cdef class Timestamp:
    """A moment: seconds since 1970 UTC, 0 <= nanos < 1e9, and the offset it was written with."""
    cdef readonly int64_t seconds
    cdef readonly int32_t nanos
    cdef readonly int32_t offset  # seconds east of UTC; only for printing


cdef class Duration:
    """A span of time in nanoseconds."""
    cdef readonly int64_t nanos


cdef class Optional:
    """``optional.of(value)``, or ``optional.none()`` where value is MISSING."""
    cdef object held


cdef class TypeValue:
    """A type as a value: ``type(1)``, ``int``."""
    cdef readonly str name


cdef class StructValue:
    """``Object.spec{replicas: 1}``: fields in the order in which they were written."""
    cdef readonly str type_name
    cdef readonly dict fields


cdef class MapKey:
    """Any other value in the role of a map key."""
    cdef readonly object value
    cdef tuple identity
    cdef Py_hash_t hashed


cdef class Opaque:
    """Base of the types with functions but without structure: quantities, URLs, addresses ..."""
    cdef str type_name(self)
    # True, False or a CelError
    cdef object equals(self, object other)
    # of actualSize
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

# The name of the Go type that cel-go uses for it; occurs in two error texts.
cdef str go_name(object value)

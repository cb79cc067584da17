"""CEL values as JSON that an overlay writes into objects."""

cdef object NO_VALUE  # optional.none(): there is no value

cdef object json_of(object value)

cdef object string_for(object value)

cpdef object without_nulls(object value)

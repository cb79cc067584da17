"""CEL values as JSON that an overlay writes into objects."""

cdef object NO_VALUE  # optional.none(): there is no value

# The JSON value, NO_VALUE, or a CelError if the value has no JSON form.
cdef object json_of(object value)

# The value as part of a string, as ``string()`` converts it; a CelError if it cannot be converted.
cdef object string_for(object value)

# The value without nulls, which have nothing to remove; the same object if there are none.
cdef object without_nulls(object value)

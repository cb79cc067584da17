"""CEL values as the JSON that an overlay puts into objects."""

cdef object NO_VALUE  # optional.none(): nothing is said

# The JSON value, NO_VALUE, or a CelError for what has no JSON form.
cdef object json_of(object value)

# The value inside a text, as ``string()`` would print it; a CelError for what has no such form.
cdef object string_for(object value)

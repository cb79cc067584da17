"""CEL's equality and order over all types, and lookups in maps."""

from policyd._core.values.activation cimport Activation

# True or False; a CelError where the type refuses (kubernetes types). Never a Python comparison of
# bool with int. Structures nested deeper than 1,000 are not equal (the decoder admits none).
cdef object equal(Activation act, object left, object right)

# a < b: -1, 0, 1; 2: no order between these two types; 3: a NaN.
cdef int compare(Activation act, object left, object right) except -2

# The value under a key, or MISSING. Numeric keys match across int, uint and double.
cdef object find(dict entries, object key)

# Whether a list or the keys of a map hold a value; NO_SUCH_OVERLOAD for
# what is neither.
cdef object contains(Activation act, object container, object value)

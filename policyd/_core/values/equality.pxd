"""CEL's equality and order over all types, and lookups in maps."""

from policyd._core.values.activation cimport Activation

# True or False; a CelError if the type does not support it (Kubernetes' types). bool and int are
# never equal.
cdef object equal(Activation act, object left, object right)

# -1, 0 or 1 if left is less than, equal to or greater than right; 2: types without order; 3: NaN.
cdef int compare(Activation act, object left, object right) except -2

# The value under a key, or MISSING. Numeric keys match across int, uint and double.
cdef object find(dict entries, object key)

# Whether a list or the keys of a map contain a value; NO_SUCH_OVERLOAD for other containers.
cdef object contains(Activation act, object container, object value)

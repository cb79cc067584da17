"""Label selectors, prepared when the policy is loaded."""


cdef class Requirement:
    """One condition on the label ``key``.

    ``values`` are the values that match (with ``negative``: that do not match); None: any value
    matches (with ``negative``: the label must be missing).
    """
    cdef str key
    cdef frozenset values
    cdef str value      # the single value, if there is one: no set is needed
    cdef bint negative

    cdef bint accepts(self, dict labels) except -1


cdef class Selector:
    """All requirements must match; without requirements everything matches (see ``empty``)."""
    cdef tuple requirements
    cdef frozenset keys          # of the labels in the requirements
    cdef readonly bint empty

    cdef bint accepts(self, dict labels) except -1

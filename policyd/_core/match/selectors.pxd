"""Label selectors, decided when the policy loads."""


cdef class Requirement:
    """One condition on the label ``key``.

    ``values`` are the accepted (or with ``negative`` refused) ones; None asks only for presence
    (with ``negative`` for absence).
    """
    cdef str key
    cdef frozenset values
    cdef str value      # the only one, if there is one: the usual case needs no set
    cdef bint negative

    cdef bint accepts(self, dict labels) except -1


cdef class Selector:
    """All requirements must hold; without any, everything matches (see ``empty``)."""
    cdef tuple requirements
    cdef frozenset keys          # of the labels that it looks at
    cdef readonly bint empty

    cdef bint accepts(self, dict labels) except -1

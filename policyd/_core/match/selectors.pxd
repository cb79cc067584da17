"""Label selectors, prepared when the policy is loaded."""


cdef class Requirement:
    cdef str key
    cdef frozenset values
    cdef str value      # the single value, if there is one: no set is needed
    cdef bint negative

    cdef bint accepts(self, dict labels) except -1


cdef class Selector:
    cdef tuple requirements
    cdef frozenset keys          # of the labels in the requirements
    cdef readonly bint empty

    cdef bint accepts(self, dict labels) except -1

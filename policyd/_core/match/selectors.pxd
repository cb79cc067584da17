"""Label selectors, prepared when the policy is loaded."""


cdef class Selector:
    cdef tuple requirements
    cdef frozenset keys          # of the labels in the requirements
    cdef readonly bint empty

    cpdef bint matches(self, dict labels) except -1

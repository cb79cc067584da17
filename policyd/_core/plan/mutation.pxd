"""The expressions of one mutating policy against one request. What their values do to the object is
not here.
"""

from policyd._core.plan.plan cimport Plan


cdef class MutationPlan(Plan):
    cdef readonly tuple programs

"""Evaluates the expressions of one mutating policy for one request. Does not change the object,
except for overlays.
"""

from policyd._core.plan.plan cimport Plan


cdef class MutationPlan(Plan):
    cdef readonly tuple programs

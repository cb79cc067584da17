"""Evaluates the expressions of one mutating policy for one request. Does not change the object,
except for overlays.
"""

from libc.stdint cimport int64_t

from policyd._core.plan.overlay cimport BoundOverlay
from policyd._core.plan.plan cimport Plan, Subject
from policyd._core.schema.edits cimport Edits


cdef class MutationPlan(Plan):
    cdef readonly tuple programs

    # Whether the matchConditions hold: True, False, or the error (a string or Stopped). If they
    # hold, an unreadable review is an error too.
    cdef object conditions_hold(self, Subject subject, object params, int64_t deadline)
    # The value of a mutation's expression. Variables are computed anew for each mutation, and each
    # mutation has a whole budget. Raises MutationError or Stopped.
    cdef object evaluated(self, Py_ssize_t index, Subject subject, object params, int64_t deadline)
    # The JSON trees that the mutation's expression could read.
    cdef tuple sources(self, Subject subject, object params)
    # The object after an overlay, whose expressions share one budget and are each evaluated at
    # most once; ``edits`` gets what changed. Raises MutationError or Stopped.
    cdef object merged(
        self,
        BoundOverlay overlay,
        Subject subject,
        object params,
        int64_t deadline,
        Edits edits,
    )

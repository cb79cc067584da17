"""Evaluates the expressions of one mutating policy for one request. Does not change the object,
except for overlays.
"""

from libc.stdint cimport int64_t

from policyd._core.plan.overlay cimport BoundOverlay
from policyd._core.plan.plan cimport Plan, Subject
from policyd._core.schema.edits cimport Edits
from policyd._core.values.activation cimport Activation
from policyd._core.values.read_trees cimport ReadTrees


cdef class MutationPlan(Plan):
    cdef readonly tuple programs

    cdef object conditions_hold(self, Subject subject, object params, int64_t deadline)
    cdef object evaluated(self, Py_ssize_t index, Activation act)
    cdef ReadTrees sources(self, Py_ssize_t index, Activation act)
    cdef object merged(
        self,
        BoundOverlay overlay,
        Subject subject,
        object params,
        int64_t deadline,
        Edits edits,
    )

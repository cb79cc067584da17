"""Evaluates one mutating policy for one request, and applies its entries to an object."""

from libc.stdint cimport int64_t

from policyd._core.plan.mutated_tree cimport MutatedTree
from policyd._core.plan.overlay cimport BoundOverlay
from policyd._core.plan.plan cimport Plan, Subject
from policyd._core.schema.merge cimport Edits
from policyd._core.schema.types cimport Field
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

cdef class MutationStep:
    cdef object target
    cdef Field root         # the Go type of the target; None: it has none, or no direct form

    cdef object changed(
        self,
        MutationPlan plan,
        Subject subject,
        object params,
        object target,
        int64_t deadline,
        MutatedTree tree,
    )

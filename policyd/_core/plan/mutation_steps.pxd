"""The entries of a policy's ``mutations``: what each does to an object."""

from libc.stdint cimport int64_t

from policyd._core.plan.mutated_tree cimport MutatedTree
from policyd._core.plan.mutation cimport MutationPlan
from policyd._core.plan.plan cimport Subject
from policyd._core.schema.types cimport Field


cdef class MutationStep:
    cdef object target
    cdef Field root         # the Go type of the target; None: there is none, or no direct form

    cdef object changed(
        self,
        MutationPlan plan,
        Subject subject,
        object params,
        object target,
        int64_t deadline,
        MutatedTree tree,
    )

"""The entries of a policy's ``mutations``: what each does to an object."""

from libc.stdint cimport int64_t

from policyd._core.plan.mutated_tree cimport MutatedTree
from policyd._core.plan.mutation cimport MutationPlan
from policyd._core.plan.mutators cimport DirectMutator
from policyd._core.plan.overlay cimport BoundOverlay
from policyd._core.plan.plan cimport Subject
from policyd._core.schema.types cimport Field
from policyd._core.values.read_trees cimport ReadTrees


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


cdef class ExpressionStep(MutationStep):
    cdef Py_ssize_t index
    cdef object mutator
    cdef DirectMutator direct   # None: the mutator has none

    cdef object applied(
        self, object value, dict obj, object target, ReadTrees sources, MutatedTree tree
    )
    cdef Field direct_type(self, object target)


cdef class OverlayStep(MutationStep):
    cdef readonly object overlay
    cdef BoundOverlay bound

"""The entries of a policy's ``mutations``: what each does to an object."""

from libc.stdint cimport int64_t

from policyd._core.plan.mutated_tree cimport MutatedTree
from policyd._core.plan.mutation cimport MutationPlan
from policyd._core.plan.mutators cimport UsualMutator
from policyd._core.plan.overlay cimport BoundOverlay
from policyd._core.plan.plan cimport Subject
from policyd._core.schema.types cimport Field


cdef class MutationStep:
    """One entry. A target is a kind (``policyd.mutation.schemas``); what follows from it is kept
    for the last one: nearly all objects that a policy mutates are of one kind.
    """

    cdef object target
    cdef Field root         # the Go type of the target; None: none, or it cannot be used

    # The object after the mutation, or ``subject.object`` itself. ``tree`` may learn what changed.
    # Raises MutationError, Stopped or StatusError.
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
    """The value of the expression at ``index`` in the plan, applied by a mutator
    (``policyd.mutation.kind.Mutator``).
    """

    cdef Py_ssize_t index
    cdef object mutator
    cdef UsualMutator usual     # None: the mutator has none


cdef class OverlayStep(MutationStep):
    """An overlay (``policyd.mutation.overlay.Overlay``)."""

    cdef readonly object overlay
    cdef BoundOverlay bound

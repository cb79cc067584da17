"""The entries of a policy's ``mutations``: what each does to an object."""

from libc.stdint cimport int64_t

from policyd._core.plan.mutated_tree cimport MutatedTree
from policyd._core.plan.mutation cimport MutationPlan
from policyd._core.plan.mutators cimport DirectMutator
from policyd._core.plan.overlay cimport BoundOverlay
from policyd._core.plan.plan cimport Subject
from policyd._core.schema.types cimport Field


cdef class MutationStep:
    """One entry. A target is a kind (``policyd.mutation.schemas``); what follows from it is kept
    for the last one: nearly all objects that a policy mutates are of one kind.
    """

    cdef object target
    cdef Field root         # the Go type of the target; None: there is none, or no direct form

    # The object after the mutation, decoded, or ``subject.object`` itself. ``tree`` learns what
    # changed, if that is known. Raises MutationError, Stopped or StatusError.
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
    (``policyd.mutation.kind.Mutator``): by its direct form, or by the general one where that form
    does not apply.
    """

    cdef Py_ssize_t index
    cdef object mutator
    cdef DirectMutator direct   # None: the mutator has none

    # The same of the value of the expression.
    cdef object applied(
        self, object value, dict obj, object target, tuple sources, MutatedTree tree
    )
    cdef Field direct_type(self, object target)


cdef class OverlayStep(MutationStep):
    """An overlay (``policyd.mutation.overlay.Overlay``)."""

    cdef readonly object overlay
    cdef BoundOverlay bound

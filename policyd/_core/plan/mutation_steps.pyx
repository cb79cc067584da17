"""The entries of a policy's ``mutations``."""

cimport cython

from policyd._core.values.read_trees cimport ReadTrees
from policyd._core.plan.overlay cimport BoundOverlay
from policyd._core.plan.mutators cimport DirectMutator
from policyd._core.schema.edits cimport Edits
from policyd._core.values.activation cimport Activation

#: from policyd._core.plan.mutated_tree import MutatedTree
#: from policyd._core.plan.mutation import MutationPlan
#: from policyd._core.plan.mutators import DirectMutator
#: from policyd._core.plan.overlay import BoundOverlay
#: from policyd._core.plan.plan import Subject
#: from policyd._core.values.read_trees import ReadTrees
#: class _Mutator(Protocol):
#:
#:     @property
#:     def direct(self) -> DirectMutator | None:
#:         ...
#:
#:     def apply(
#:         self,
#:         value: object,
#:         obj: dict[str, Any],
#:         target: Any,
#:         sources: ReadTrees | None,
#:     ) -> dict[str, Any]:
#:         ...
#: class _Overlay(Protocol):
#:
#:     def bound(self, target: Any) -> BoundOverlay:
#:         ...
#:
#:     def converted(
#:         self, after: dict[str, Any], before: dict[str, Any], target: Any
#:     ) -> dict[str, Any]:
#:         ...


cdef class MutationStep:
    """One entry. A target is a kind (``policyd.mutation.schemas``); what follows from it is kept
    for the last one: nearly all objects that a policy mutates are of one kind.
    """

    def change(
        self,
        MutationPlan plan not None,
        Subject subject not None,
        object params,
        object target,
        int64_t deadline,
        MutatedTree tree not None,
    ):
        #: (MutationPlan, Subject, Any, Any, int, MutatedTree) -> dict[str, Any]
        """The object after the mutation, or ``subject.object`` itself. Raises MutationError,
        Stopped or StatusError.
        """
        return self.changed(plan, subject, params, target, deadline, tree)

    cdef object changed(
        self,
        MutationPlan plan,
        Subject subject,
        object params,
        object target,
        int64_t deadline,
        MutatedTree tree,
    ):
        """The object after the mutation, decoded, or ``subject.object`` itself. ``tree`` learns
        what changed, if that is known. Raises MutationError, Stopped or StatusError.
        """
        raise TypeError(f"{type(self).__name__} has no change of its own")


@cython.final
cdef class ExpressionStep(MutationStep):
    """The value of the expression at ``index`` in the plan, applied by a mutator
    (``policyd.mutation.kind.Mutator``): by its direct form, or by the general one where that form
    does not apply.
    """
    cdef Py_ssize_t index
    cdef object mutator
    cdef DirectMutator direct   # None: the mutator has none

    def __init__(self, Py_ssize_t index, mutator):
        #: (int, _Mutator) -> None
        self.index = index
        self.mutator = mutator
        self.direct = mutator.direct

    cdef object changed(
        self,
        MutationPlan plan,
        Subject subject,
        object params,
        object target,
        int64_t deadline,
        MutatedTree tree,
    ):
        cdef Activation act = plan.activation(subject, params, deadline)
        value = plan.evaluated(self.index, act)
        return self.applied(value, subject.object, target, plan.sources(self.index, act), tree)

    def apply(self, value, dict obj not None, target, ReadTrees sources, MutatedTree tree not None):
        #: (object, dict[str, Any], Any, ReadTrees | None, MutatedTree) -> dict[str, Any]
        """The same as ``change`` of the value of the expression."""
        return self.applied(value, obj, target, sources, tree)

    cdef object applied(
        self, object value, dict obj, object target, ReadTrees sources, MutatedTree tree
    ):
        """The same of the value of the expression."""
        cdef Edits edits
        if target is not self.target:
            self.root, self.target = self.direct_type(target), target
        if self.root is not None:
            edits = Edits.__new__(Edits)
            after = self.direct.applied(value, obj, self.root, sources, edits)
            if after is not None and after is not obj:
                after = tree.decoded(edits.latest, obj, after, self.root, self.direct.merges)
            if after is not None:
                return after
        return self.mutator.apply(value, obj, target, sources)

    cdef Field direct_type(self, object target):
        """The Go type of a kind for which there is the direct form."""
        native = target.native
        if self.direct is None or native is None or self.direct.merges and not native.mergeable:
            return None
        return native.root


@cython.final
cdef class OverlayStep(MutationStep):
    """An overlay (``policyd.mutation.overlay.Overlay``)."""
    cdef readonly object overlay
    cdef BoundOverlay bound
    #: overlay: _Overlay

    def __init__(self, overlay):
        #: (_Overlay) -> None
        self.overlay = overlay

    cdef object changed(
        self,
        MutationPlan plan,
        Subject subject,
        object params,
        object target,
        int64_t deadline,
        MutatedTree tree,
    ):
        cdef Edits edits = Edits.__new__(Edits)
        cdef dict obj = subject.object
        if target is not self.target:
            self.bound = self.overlay.bound(target)
            self.root = None if target.native is None else target.native.root
            self.target = target
        after = plan.merged(self.bound, subject, params, deadline, edits)
        if after is obj or self.root is None:
            return after
        decoded = tree.decoded(edits.latest, obj, after, self.root, True)
        return self.overlay.converted(after, obj, target) if decoded is None else decoded

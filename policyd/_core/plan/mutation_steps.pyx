"""The entries of a policy's ``mutations``."""

cimport cython

from policyd._core.schema.edits cimport Edits


cdef class MutationStep:

    def change(
        self,
        MutationPlan plan not None,
        Subject subject not None,
        object params,
        object target,
        int64_t deadline,
        MutatedTree tree not None,
    ):
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
        raise TypeError(f"{type(self).__name__} has no change of its own")


@cython.final
@cython.auto_pickle(False)
cdef class ExpressionStep(MutationStep):

    def __init__(self, Py_ssize_t index, mutator):
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
        value = plan.evaluated(self.index, subject, params, deadline)
        return self.applied(value, subject.object, target, plan.sources(subject, params), tree)

    def apply(self, value, dict obj not None, target, tuple sources, MutatedTree tree not None):
        return self.applied(value, obj, target, sources, tree)

    cdef object applied(
        self, object value, dict obj, object target, tuple sources, MutatedTree tree
    ):
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
@cython.auto_pickle(False)
cdef class OverlayStep(MutationStep):

    def __init__(self, overlay):
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

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
        self.usual = getattr(mutator, "usual", None)

    cdef object changed(
        self,
        MutationPlan plan,
        Subject subject,
        object params,
        object target,
        int64_t deadline,
        MutatedTree tree,
    ):
        cdef tuple sources
        value = plan.evaluated(self.index, subject, params, deadline)
        sources = plan.sources(subject, params)
        if target is not self.target:
            self.root = None if self.usual is None else self.mutator.usual_type(target)
            self.target = target
        if self.root is not None:
            after = self.usual.applied(value, subject.object, self.root, sources, tree)
            if after is not None:
                return after
        return self.mutator.apply(value, subject.object, target, sources)


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
        cdef Edits edits = Edits()
        obj = subject.object
        if target is not self.target:
            self.bound, self.root = self.overlay.bound(target), self.overlay.go_type(target)
            self.target = target
        after = plan.merged(self.bound, subject, params, deadline, edits)
        if after is obj or self.root is None:
            return after
        decoded = tree.decoded_change(edits.latest, obj, after, self.root, True)
        return self.overlay.converted(after, obj, target) if decoded is None else decoded

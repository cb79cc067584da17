"""The one way in which mutating policies are invoked: matchConditions, mutations one after the
other, acceptance of each change.
"""

from libc.stdint cimport int64_t

from policyd._core.match.match_resources cimport Hit
from policyd._core.plan.mutated_tree cimport ChangeLog, MutatedTree
from policyd._core.plan.mutation cimport MutationPlan
from policyd._core.plan.mutation_steps cimport MutationStep
from policyd._core.plan.plan cimport Subject


cdef enum ReadAs:
    UNREAD
    JSON
    GO


cdef class TreeView:
    cdef Subject first      # with the tree at the time of matching
    cdef object matched     # that tree
    cdef Subject latest
    cdef object tree        # that ``latest`` shows
    cdef object target      # the kind of the object that they see
    cdef object lens
    cdef str mismatch
    cdef bint typed         # a matchCondition has been evaluated in this round
    cdef ReadAs object_as   # the object since it was last changed
    cdef ReadAs old_as      # oldObject

    cdef Subject subject(self, object tree)
    cdef int read(self, Subject subject, bint conditions) except -1


cdef class MutationInvocation:
    cdef MutationPlan plan
    cdef tuple steps            # of MutationStep
    cdef object params
    cdef object key
    cdef bint reinvoke
    cdef bint held

    cdef bint acts_again(self)


cdef class MutationOutcome:
    cdef readonly bint again        # in the second round
    cdef readonly bint passed_over  # only errors of its matchConditions count
    cdef readonly bint invoked      # its matchConditions hold, and it is not passed over
    cdef readonly list failures     # None: there are none
    cdef readonly object error
    cdef readonly object before     # the tree
    cdef readonly object after
    cdef readonly list steps        # (number of the mutation, before, after, error); None: none

    cdef int fail(self, object failure) except -1


cdef class MutationRun:
    cdef MutatedTree tree
    cdef ChangeLog log
    cdef object view_of             # (hit, as_pod) -> TreeView
    cdef object patch_operations    # (name, count), of the Recorder
    cdef readonly int64_t cut
    cdef dict saw
    cdef readonly dict seen
    cdef bint watched
    cdef readonly MutationOutcome outcome   # of the direct policy that ``direct`` stopped at
    cdef Hit hit                    # the last one, and its view
    cdef TreeView view

    cdef bint settled(self, object policy, MutationInvocation invocation, Hit hit) except -1
    cdef MutationOutcome invoked(
        self, MutationInvocation invocation, TreeView view, Hit hit, int64_t deadline
    )
    cdef int perform(
        self,
        MutationInvocation invocation,
        TreeView view,
        int64_t deadline,
        MutationOutcome outcome,
    ) except -1
    cdef int mutate(
        self,
        MutationInvocation invocation,
        Py_ssize_t number,
        TreeView view,
        Subject subject,
        int64_t deadline,
        MutationOutcome outcome,
    ) except -1

"""The usual course of the first round of a mutating request."""

from libc.stdint cimport int64_t

from policyd._core.counting.counters cimport PolicyCounters
from policyd._core.match.rules cimport Hit
from policyd._core.plan.mutated_tree cimport ChangeLog, MutatedTree
from policyd._core.plan.mutation cimport MutationPlan
from policyd._core.plan.plan cimport Subject


cdef class PlainMutation:
    """What a plain policy does: ``CompiledPolicy.plain_mutation``."""

    cdef MutationPlan plan
    cdef tuple steps            # of MutationStep
    cdef object params
    cdef bint reinvoke


cdef class PlainMutations:
    """The policies of the first round of one request. ``at`` is the index of ``policy``,
    the one that ``run`` is at, ``before`` the tree that it found, and ``failures`` are its errors,
    if it has any.
    """

    cdef readonly Py_ssize_t at
    cdef readonly object policy
    cdef readonly object before
    cdef readonly list failures
    cdef readonly bint invoked      # whether the matchConditions of the policy with failures hold
    cdef readonly list reinvoked    # the others with IfNeeded: (CompiledPolicy, the tree before)
    cdef list matches               # (CompiledPolicy, Hit), or something else
    cdef MutatedTree tree
    cdef ChangeLog log
    cdef object subject_of          # (hit, as_pod) -> Subject
    cdef object target_of           # (kind) -> Target
    cdef object noted               # (CompiledPolicy, the tree before, the tree after)
    cdef object patch_operations    # (name, count), of the Recorder
    cdef int64_t deadline
    cdef Hit seen                   # the last hit, and what follows from it
    cdef Subject subject
    cdef object target

    cdef int invoke(self, object policy, PlainMutation plain, Hit hit) except -1
    cdef object mutate(self, PlainMutation plain, object step, Subject subject, object now)
    cdef int note(self, object policy, object after) except -1

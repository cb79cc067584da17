"""Runs the plain mutating policies of a round in one call, because nearly all policies are plain
and nearly all mutations succeed.
"""

cimport cython

from policyd._core.counting.counters cimport ADMIT
from policyd._core.plan.mutation_steps cimport MutationStep
from policyd._core.plan.plan cimport PlannedPolicy

from policyd._core.plan.plan import Stopped
from policyd.errors import MutationError


@cython.final
@cython.auto_pickle(False)
cdef class PlainMutation:

    def __init__(self, MutationPlan plan not None, steps, params, bint reinvoke):
        self.plan = plan
        self.steps = tuple(steps)
        self.params = params
        self.reinvoke = reinvoke


@cython.final
@cython.auto_pickle(False)
cdef class PlainMutations:

    def __init__(
        self,
        list matches not None,
        MutatedTree tree not None,
        ChangeLog log not None,
        subject_of,
        target_of,
        noted,
        patch_operations,
        int64_t deadline,
    ):
        self.matches = matches
        self.tree = tree
        self.log = log
        self.subject_of = subject_of
        self.target_of = target_of
        self.noted = noted
        self.patch_operations = patch_operations
        self.deadline = deadline
        self.reinvoked = []

    def run(self, Py_ssize_t at):
        cdef Hit hit
        self.failures = None
        while at < len(self.matches):
            match = <object>self.matches[at]
            if type(match) is not tuple:
                return at
            policy, hit = <tuple>match
            self.at, self.policy, self.before = at, policy, self.tree.current
            self.invoke(policy, (<PlannedPolicy?>policy).plain_mutation, hit)
            if self.failures is not None:
                return at
            at += 1
        return at

    cdef int invoke(self, object policy, PlainMutation plain, Hit hit) except -1:
        cdef MutatedTree tree = self.tree
        cdef Subject subject
        cdef list failures = None
        cdef object now = self.before
        if hit is not self.seen:
            self.subject, self.target = self.subject_of(hit, False), self.target_of(hit.kind)
            self.seen = hit
        subject = self.subject if now is tree.original else tree.view_of(self.subject)
        matched = plain.plan.conditions_hold(subject, plain.params, self.deadline)
        self.invoked = matched is True
        if matched is not True:
            if matched is not False:
                self.failures = [matched]
            return 0
        tree.changes = 0
        for step in plain.steps:
            if now is not self.before:
                subject = tree.view_of(self.subject)
            failure = self.mutate(plain, step, subject, now)
            if failure is not None:
                failures = failures or []
                failures.append(failure)
            now = tree.current
        if failures is not None:
            self.failures = failures
            return 0
        plain.plan.counters.decisions[<int>ADMIT] += 1
        if now is not self.before:
            self.note(policy, now)
        if plain.reinvoke:
            self.reinvoked.append((policy, self.before))
        return 0

    cdef object mutate(self, PlainMutation plain, object step, Subject subject, object now):
        """Apply one mutation to the current tree; return its error, or None."""
        cdef object after
        if type(subject.object) is not dict or type(now) is not dict:
            return None
        try:
            after = (<MutationStep>step).changed(
                plain.plan, subject, plain.params, self.target, self.deadline, self.tree
            )
        except MutationError as failure:
            return str(failure)
        except Stopped as stopped:
            return stopped
        if after is subject.object:
            return None
        problem = self.tree.accepted(after)
        return None if problem is None else f"the mutation makes {problem}"

    cdef int note(self, object policy, object after) except -1:
        """Note the change of a policy; here only if it is certainly no conflict."""
        cdef MutatedTree tree = self.tree
        cdef list operations
        if tree.changes != 1 or self.log.suspects(tree.operations):
            self.noted(policy, self.before, after)
            return 0
        operations = tree.operations
        self.log.add(policy, operations, self.before, after)
        self.patch_operations(policy.name, len(operations))
        return 0


def recheck(
    list matches not None, Py_ssize_t at, subject_of, int64_t deadline, list failures not None
):
    cdef Hit hit, seen = None
    cdef Subject subject = None
    cdef PlainMutation plain
    while at < len(matches):
        policy, hit = <tuple>matches[at]
        plain = (<PlannedPolicy?>policy).plain_mutation
        if plain is None or hit.error:
            return at
        if plain.plan.fail and plain.plan.conditions:
            try:
                if hit is not seen:
                    subject, seen = subject_of(hit, False), hit
                matched = plain.plan.conditions_hold(subject, plain.params, deadline)
            except Exception:
                return at  # evaluated again, and reported, by the caller
            if matched is not True and matched is not False:
                failures.append((policy, matched))
        at += 1
    return at

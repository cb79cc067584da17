"""Evaluates all validating policies of a request that have a direct form in one call, because
nearly all policies admit nearly all requests.
"""

cimport cython
from cpython.time cimport PyTime_PerfCounterRaw as now
from libc.stdint cimport int64_t

from policyd._core.match.match_resources cimport Hit
from policyd._core.plan.plan cimport PlannedPolicy, Subject
from policyd._core.plan.validation cimport ValidationOutcome, ValidationPlan

#: from policyd._core.match.matcher import Hit
#: from policyd._core.plan.plan import Subject
#: from policyd._core.plan.validation import ValidationOutcome

cdef tuple NONE_EXEMPT = ()


@cython.final
cdef class DirectValidation:
    """The matched policies of one request. ``run`` ended at the policy ``at``, because of
    ``outcome`` or ``error``.
    """
    cdef readonly Py_ssize_t at
    cdef readonly ValidationOutcome outcome
    cdef readonly object error
    cdef readonly int64_t deadline
    cdef list matches       # of (CompiledPolicy, Hit)
    cdef object subject_of  # (hit, as_pod) -> Subject
    cdef Hit hit            # the Subject of the policies evaluated last
    cdef Subject subject
    #: outcome: ValidationOutcome | None
    #: error: Exception | None

    def __init__(self, list matches not None, subject_of, int64_t deadline):
        #: (list[tuple[Any, Hit]], Callable[[Hit, bool], Subject], int) -> None
        self.matches = matches
        self.subject_of = subject_of
        self.deadline = deadline

    def run(self, Py_ssize_t at):
        #: (int) -> bool
        """Evaluate the policies from ``at`` on, and return whether all simply admit the request.
        Otherwise stop at the first that does not: its index is ``self.at``, and its outcome or
        error is kept. A policy without a direct form (``PlannedPolicy``) has neither.
        """
        self.outcome = self.error = None
        try:
            self.run_from(at)
        except Exception as error:
            self.error = error
        return self.at == len(self.matches)

    cdef int run_from(self, Py_ssize_t at) except -1:
        cdef int64_t clock = now()
        cdef Py_ssize_t count = len(self.matches)
        cdef Hit hit
        cdef tuple direct
        cdef ValidationPlan plan
        self.at = at
        while self.at < count:
            policy, hit = <tuple>self.matches[self.at]
            direct = (<PlannedPolicy?>policy).direct_validation
            if direct is None or hit.error:
                return 0
            if hit is not self.hit:
                self.subject, self.hit = self.subject_of(hit, False), hit
            plan, params = direct
            self.outcome = plan.timed(self.subject, params, self.deadline, NONE_EXEMPT, &clock)
            if self.outcome is not None:
                return 0
            self.at += 1
        return 0

"""The direct form of validating: all policies of a request in one call."""

from libc.stdint cimport int64_t

from policyd._core.match.match_resources cimport Hit
from policyd._core.plan.plan cimport Subject
from policyd._core.plan.validation cimport ValidationOutcome


cdef class DirectValidation:
    cdef readonly Py_ssize_t at
    cdef readonly ValidationOutcome outcome
    cdef readonly object error
    cdef readonly int64_t deadline
    cdef list matches       # of (CompiledPolicy, Hit)
    cdef object subject_of  # (hit, as_pod) -> Subject
    cdef Hit hit            # of the policies evaluated last, with what they see
    cdef Subject subject

    cdef int run_from(self, Py_ssize_t at) except -1

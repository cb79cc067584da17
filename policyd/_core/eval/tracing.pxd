"""What the parts of an expression gave while it ran: for people who ask why. Off the request path.

``cel/trace/tracing.py`` puts a ``Trace`` around each node of a program that is planned to be traced; no
other program knows of it. A Trace gives what its node gives and charges nothing. The records hang
together as the evaluations did, so that a fold has one set of them for each round.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.nodes cimport Node


cdef class Record:
    """One evaluation of one part: its value or CelError, and the units that it cost.

    ``expression`` and ``id`` say which part it was (what the planner gave the Trace); a child of
    another expression is a variable that was computed here. ``finished`` is False where a limit
    ended the evaluation. ``rounds`` are those kept of a fold, ``skipped`` how many were not.
    """
    cdef readonly object expression
    cdef readonly object id
    cdef readonly object value
    cdef readonly bint finished
    cdef readonly int64_t cost
    cdef readonly list children
    cdef readonly list rounds
    cdef readonly Py_ssize_t skipped
    cdef Py_ssize_t notable  # rounds kept beyond the first ones

    cdef int begin(self, Tracer tracer, object first, object second) except -1


cdef class Round:
    """One round of a fold: the values of its variables, and what was evaluated.

    ``number`` counts from 0. ``notable``: it ended in an error, or in the value that the fold
    looks for.
    """
    cdef readonly Py_ssize_t number
    cdef readonly object first
    cdef readonly object second  # MISSING: the fold has one variable
    cdef readonly list children
    cdef readonly bint notable
    cdef Py_ssize_t left     # of the tracer when it began


cdef class Tracer:
    """Collects the records of programs; ``roots`` are the expressions in the order they ran."""
    cdef readonly list roots
    cdef Record current
    cdef Py_ssize_t left  # records that may still be made


cdef class Trace(Node):
    """Records what its node gives."""
    cdef Node node
    cdef Tracer tracer
    cdef object expression
    cdef object id


cdef class RoundTrace(Node):
    """The first (``begins``) or a later part of each round of a fold, whose record is current."""
    cdef Node node
    cdef Tracer tracer
    cdef Py_ssize_t slot
    cdef Py_ssize_t second_slot
    cdef bint begins
    cdef object notable  # a value that makes the round worth keeping; MISSING: only errors do

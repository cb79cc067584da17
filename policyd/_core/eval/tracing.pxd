"""The values of all parts of an expression in one evaluation, for explanations. Not on the request
path.

``cel/trace/tracing.py`` wraps each node of a program in a ``Trace`` if the program is planned to be
traced; other programs are not affected. A Trace returns what its node returns and charges nothing.
The records form a tree like the evaluations did: a fold has one set of records for each round.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.nodes cimport Node


cdef class Record:
    """One evaluation of one part: its value or CelError, and the units that it cost.

    ``expression`` and ``id`` identify the part (as the planner passed them to the Trace); a child
    with another expression is a variable that was computed here. ``finished`` is False if a limit
    ended the evaluation. ``rounds`` are the rounds of a fold that were kept, ``skipped`` is the
    number of the others.
    """
    cdef readonly object expression
    cdef readonly object id
    cdef readonly object value
    cdef readonly bint finished
    cdef readonly int64_t cost
    cdef readonly list children
    cdef readonly list rounds
    cdef readonly Py_ssize_t skipped
    cdef Py_ssize_t notable  # number of rounds kept after the first ones

    cdef int begin(self, Tracer tracer, object first, object second) except -1


cdef class Round:
    """One round of a fold: the values of its variables, and the records of the evaluations.

    ``number`` counts from 0. ``notable``: it ended in an error, or in the value that the fold
    searches for.
    """
    cdef readonly Py_ssize_t number
    cdef readonly object first
    cdef readonly object second  # MISSING: the fold has one variable
    cdef readonly list children
    cdef readonly bint notable
    cdef Py_ssize_t left     # tracer.left when the round began


cdef class Tracer:
    """Collects the records of programs; ``roots`` are the expressions in order of evaluation."""
    cdef readonly list roots
    cdef Record current
    cdef Py_ssize_t left  # number of records that may still be created


cdef class Trace(Node):
    """Records the result of its node."""
    cdef Node node
    cdef Tracer tracer
    cdef object expression
    cdef object id


cdef class RoundTrace(Node):
    """The first (``begins``) or a later part of each round of the fold whose record is current."""
    cdef Node node
    cdef Tracer tracer
    cdef Py_ssize_t slot
    cdef Py_ssize_t second_slot
    cdef bint begins
    cdef object notable  # the value for which a round is kept; MISSING: only errors

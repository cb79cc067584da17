"""The values of all parts of an expression in one evaluation.

``cel/trace/tracing.py`` wraps each node of a program to be traced in a ``Trace``; other programs
are not affected. A Trace returns what its node returns and charges nothing. The records form the
tree of the evaluations: a fold has one set of records per round.
"""

cimport cython
from libc.stdint cimport int64_t

from policyd._core.eval.nodes cimport Node
from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport CelError
from policyd._core.values.types cimport MISSING

from policyd.errors import CelPanic

#: from policyd._core.eval.nodes import Node

cdef enum:
    FIRST_ROUNDS = 10      # kept per fold, in addition to the last one
    NOTABLE_ROUNDS = 10    # kept in addition to those
    MOST_RECORDS = 100000  # of all expressions, between two calls of take()


@cython.final
cdef class Record:
    """One evaluation of one part: its value or CelError, and the units that it cost.

    ``expression`` and ``id``, which the planner passed to the Trace, identify the part; a child
    with another expression is a variable that was computed here. ``finished`` is False if a limit
    ended the evaluation. ``rounds`` are the kept rounds of a fold, ``skipped`` counts the others.
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
    #: def __init__(self, *args: object, **kwargs: object) -> None: ...
    #: id: int
    #: children: list[Record]
    #: rounds: list[Round]

    def __init__(self):
        raise TypeError("records are created by traced programs")


@cython.final
cdef class Round:
    """One round of a fold: the values of its variables and the records of its evaluations.

    ``number`` counts from 0. ``notable``: it ended in an error, or in the value that the fold
    searches for.
    """
    cdef readonly Py_ssize_t number
    cdef readonly object first
    cdef readonly object second  # MISSING: the fold has one variable
    cdef readonly list children
    cdef readonly bint notable
    cdef Py_ssize_t left     # tracer.left when the round began
    #: def __init__(self, *args: object, **kwargs: object) -> None: ...
    #: children: list[Record]

    def __init__(self):
        raise TypeError("rounds are created by traced programs")


@cython.final
cdef class Tracer:
    """Collects the records of programs; ``roots`` are the expressions in order of evaluation."""
    cdef readonly list roots
    cdef Record current
    cdef Py_ssize_t left  # number of records that may still be created
    #: def __init__(self) -> None:
    #:     ...
    #: roots: list[Record]

    def __cinit__(self):
        self.roots = []
        self.left = MOST_RECORDS

    def take(self):
        #: () -> list[Record]
        """The expressions that were evaluated since the last call."""
        cdef list roots = self.roots
        self.roots = []
        self.left = MOST_RECORDS
        return roots


cdef int begin(Record fold, Tracer tracer, object first, object second) except -1:
    """Begin a new round of a fold. Drop the previous round if it is neither among the first nor
    notable.
    """
    cdef Py_ssize_t number = len(fold.rounds) + fold.skipped
    cdef Round last, made = Round.__new__(Round)
    if len(fold.rounds) > FIRST_ROUNDS + fold.notable:
        last = fold.rounds[-1]
        if last.notable and fold.notable < NOTABLE_ROUNDS:
            fold.notable += 1
        else:
            fold.rounds.pop()
            fold.skipped += 1
            tracer.left = last.left
    made.number = number
    made.left = tracer.left
    made.first = first
    made.second = second
    made.children = []
    fold.rounds.append(made)
    return 0


@cython.final
cdef class Trace(Node):
    """Records the results of its node."""
    cdef Node node
    cdef Tracer tracer
    cdef object expression
    cdef object id

    def __init__(self, Node node not None, Tracer tracer not None, expression, id):
        #: (Node, Tracer, Any, int) -> None
        self.node = node
        self.tracer = tracer
        self.expression = expression
        self.id = id

    cdef object eval(self, Activation act):
        cdef Tracer tracer = self.tracer
        cdef Record made, outer = tracer.current
        cdef int64_t before = act.spent
        if tracer.left <= 0:
            return self.node.eval(act)
        tracer.left -= 1
        made = Record.__new__(Record)
        made.expression = self.expression
        made.id = self.id
        made.children = []
        made.rounds = []
        (tracer.roots if outer is None else outer.children).append(made)
        tracer.current = made
        try:
            value = self.node.eval(act)
        except CelPanic as panic:  # it ends the whole expression
            made.value = CelError(f"internal error: {panic}")
            made.finished = True
            raise
        finally:
            tracer.current = outer
            made.cost = act.spent - before
        made.value = value
        made.finished = True
        return value


@cython.final
cdef class RoundTrace(Node):
    """The first (``begins``) or a later part of each round of the current fold."""
    cdef Node node
    cdef Tracer tracer
    cdef Py_ssize_t slot
    cdef Py_ssize_t second_slot
    cdef bint begins
    cdef object notable  # the value that makes a round notable; MISSING: only errors do

    def __init__(self, Node node not None, Tracer tracer not None, slot, second_slot, begins,
                 notable=MISSING):
        #: (Node, Tracer, int, int, bool, object) -> None
        self.node = node
        self.tracer = tracer
        self.slot = slot
        self.second_slot = second_slot
        self.begins = begins
        self.notable = notable

    cdef object eval(self, Activation act):
        cdef Record fold = self.tracer.current
        cdef Round turn
        cdef list children
        if fold is None or self.tracer.left <= 0:
            return self.node.eval(act)
        if self.begins or not fold.rounds:
            second = MISSING if self.second_slot < 0 else act.slots[self.second_slot]
            begin(fold, self.tracer, act.slots[self.slot], second)
        turn = fold.rounds[-1]
        children = fold.children
        fold.children = turn.children
        try:
            value = self.node.eval(act)
        finally:
            fold.children = children
        if type(value) is CelError or value is self.notable:
            turn.notable = True
        return value

"""The values of all parts of an expression in one evaluation."""

cimport cython

from policyd._core.values.errors cimport CelError
from policyd._core.values.types cimport MISSING

from policyd.errors import CelPanic

cdef enum:
    FIRST_ROUNDS = 10      # kept per fold, in addition to the last one
    NOTABLE_ROUNDS = 10    # kept in addition to those
    MOST_RECORDS = 100000  # of all expressions, between two calls of take()


@cython.final
@cython.auto_pickle(False)
cdef class Record:
    def __init__(self):
        raise TypeError("records are created by traced programs")

    cdef int begin(self, Tracer tracer, object first, object second) except -1:
        """Begin a new round. The one before is dropped if it is neither among the first nor
        notable.
        """
        cdef Py_ssize_t number = len(self.rounds) + self.skipped
        cdef Round last, made = Round.__new__(Round)
        if len(self.rounds) > FIRST_ROUNDS + self.notable:
            last = self.rounds[-1]
            if last.notable and self.notable < NOTABLE_ROUNDS:
                self.notable += 1
            else:
                self.rounds.pop()
                self.skipped += 1
                tracer.left = last.left
        made.number = number
        made.left = tracer.left
        made.first = first
        made.second = second
        made.children = []
        self.rounds.append(made)
        return 0


@cython.final
@cython.auto_pickle(False)
cdef class Round:
    def __init__(self):
        raise TypeError("rounds are created by traced programs")


@cython.final
@cython.auto_pickle(False)
cdef class Tracer:
    def __cinit__(self):
        self.roots = []
        self.left = MOST_RECORDS

    def take(self):
        """The expressions that were evaluated since the last call."""
        cdef list roots = self.roots
        self.roots = []
        self.left = MOST_RECORDS
        return roots


@cython.final
@cython.auto_pickle(False)
cdef class Trace(Node):
    def __init__(self, Node node not None, Tracer tracer not None, expression, id):
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
@cython.auto_pickle(False)
cdef class RoundTrace(Node):
    def __init__(self, Node node not None, Tracer tracer not None, slot, second_slot, begins,
                 notable=MISSING):
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
            fold.begin(self.tracer, act.slots[self.slot], second)
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

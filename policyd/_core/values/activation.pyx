"""Limits of an evaluation: cost, memory and time. Independent of expressions.

Cost is counted as Kubernetes counts it, by integer additions. The limit and the clock are checked
only when ``spent`` exceeds ``checkpoint``. Work that Kubernetes does not charge (iterations,
comparison of large structures) lowers the checkpoint, so the clock is read every few microseconds
in any case.
"""

cimport cython
from cpython.time cimport PyTime_PerfCounterRaw as clock

from policyd._core.values.types cimport MISSING

from policyd.errors import CostExceeded, DeadlineExceeded

cdef int64_t STRIDE = 1_000  # units between two reads of the clock: some 20 us


cdef class Typing:
    cdef Form form(self, Activation act, object container) except *:
        """The form of a list or map."""
        return PLAIN

    cdef bint same(self, Activation act, dict left, dict right) except -1:
        """Whether two structs are of one type and equal, as Go's types compare them."""
        return False

    cdef str go_type(self, object container):
        """The Go type of a list or map that is not plain."""
        return ""


@cython.final
@cython.freelist(8)
cdef class Activation:
    def __init__(self):
        raise TypeError("activations are created by Program.evaluate and by plans")

    cdef int count_from(self, int64_t spent) except -1:
        """Count the next expression from 0, or continue one that has spent this much. The distance
        to the next check of the clock stays, so that many short expressions are timed like one long
        expression.
        """
        cdef int64_t left = self.checkpoint - self.spent
        self.spent = spent
        self.checkpoint = min(self.limit, spent + left)
        return 0

    cdef int check(self) except -1:
        """Raises CostExceeded or DeadlineExceeded; otherwise sets the next checkpoint."""
        if self.spent > self.limit:
            raise CostExceeded("operation cancelled: actual cost limit exceeded")
        if self.deadline and clock() > self.deadline:
            raise DeadlineExceeded("deadline exceeded")
        self.checkpoint = min(self.limit, self.spent + STRIDE)
        return 0

    cdef int refuse(self) except -1:
        """Raises CostExceeded: too much memory."""
        raise CostExceeded(
            "operation cancelled: the strings and lists that expressions make take more than "
            f"{MOST_TAKEN >> 20} MiB")


cdef Activation activation(Py_ssize_t slots, int64_t limit, int64_t deadline):
    return over([MISSING] * slots, limit, deadline)


cdef Activation over(list slots, int64_t limit, int64_t deadline):
    """A new activation with filled slots."""
    cdef Activation made = Activation.__new__(Activation)
    made.slots = slots
    made.limit = limit
    made.deadline = deadline
    made.checkpoint = 0  # the first unit reads the clock: the deadline may have passed already
    return made

"""Limits of an evaluation: cost, memory and time. Independent of expressions."""

cimport cython
from cpython.time cimport PyTime_PerfCounterRaw as clock

from policyd._core.values.types cimport MISSING

from policyd.errors import CostExceeded, DeadlineExceeded

cdef int64_t STRIDE = 1_000  # units between two reads of the clock: some 20 us


@cython.final
@cython.freelist(8)
@cython.auto_pickle(False)
cdef class Activation:
    def __init__(self):
        raise TypeError("activations are created by Program.evaluate and by plans")

    cdef int count_from(self, int64_t spent) except -1:
        cdef int64_t left = self.checkpoint - self.spent
        self.spent = spent
        self.checkpoint = min(self.limit, spent + left)
        return 0

    cdef int check(self) except -1:
        if self.spent > self.limit:
            raise CostExceeded("operation cancelled: actual cost limit exceeded")
        if self.deadline and clock() > self.deadline:
            raise DeadlineExceeded("deadline exceeded")
        self.checkpoint = min(self.limit, self.spent + STRIDE)
        return 0

    cdef int refuse(self) except -1:
        raise CostExceeded(
            "operation cancelled: the strings and lists that expressions make take more than "
            f"{MOST_TAKEN >> 20} MiB")


cdef Activation activation(Py_ssize_t slots, int64_t limit, int64_t deadline):
    return over([MISSING] * slots, limit, deadline)


cdef Activation over(list slots, int64_t limit, int64_t deadline):
    cdef Activation made = Activation.__new__(Activation)
    made.slots = slots
    made.limit = limit
    made.deadline = deadline
    made.checkpoint = 0  # the first unit reads the clock: the deadline may have passed already
    return made

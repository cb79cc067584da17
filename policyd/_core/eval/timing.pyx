"""Measures programs from C, without the overhead of Python calls. For benchmarks."""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation, activation
from policyd._core.eval.program cimport Program

from time import thread_time_ns

cdef int64_t FAR = 1 << 62  # a deadline, so that the clock is read as in production


def nanoseconds(tuple programs not None, dict variables not None, Py_ssize_t rounds=2_000):
    #: (tuple[Program, ...], dict[str, Any], int) -> float
    """CPU time of one round: a fresh activation with the variables, then every program.

    The programs share one layout, like those of a policy. Returns the smallest of ten means,
    because other processes can only make a round slower.
    """
    cdef Activation act
    layout = (<Program?>programs[0]).layout
    slots = [(layout.slots[name], value) for name, value in variables.items()
             if name in layout.slots]
    best = None
    for _batch in range(10):
        start = thread_time_ns()
        for _ in range(rounds):
            act = activation(layout.size, 1_000_000, FAR)
            for slot, value in slots:
                act.slots[slot] = value
            for program in programs:
                (<Program>program).run(act)
        mean = (thread_time_ns() - start) / rounds
        best = mean if best is None else min(best, mean)
    return best

"""Measures programs from C: what one evaluation costs without Python's calls around it."""

from policyd._core.activation cimport Activation, activation
from policyd._core.program cimport Program

from time import perf_counter_ns


def nanoseconds(Program program not None, dict variables not None, Py_ssize_t rounds=100_000):
    """The mean time of one run; variables are set once."""
    cdef Activation act = activation(program.layout.size, 1_000_000, perf_counter_ns() + (10 ** 11))
    cdef Py_ssize_t i
    for name, value in variables.items():
        if name in program.layout.slots:
            act.slots[program.layout.slots[name]] = value
    start = perf_counter_ns()
    for i in range(rounds):
        program.run(act)
    return (perf_counter_ns() - start) / rounds

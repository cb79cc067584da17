"""One evaluation: the values of the variables, and what the evaluation has used up so far.

Cost is counted as Kubernetes counts it (k8s-semantics.md, section 2) in plain integer additions.
The limit and the clock are looked at only when ``spent`` passes ``checkpoint``; work that costs
nothing in Kubernetes' model (iterations, comparing large structures) lowers the checkpoint, so that
the clock is still read every few microseconds.
"""

from libc.stdint cimport int64_t

cdef enum:
    # Bytes of strings, bytes, lists and maps that the functions of one policy may make for one
    # request: twenty times the largest object that an API server takes (3 MiB).
    MOST_TAKEN = 64 << 20


cdef class Activation:
    cdef list slots             # values by slot number; MISSING: not set (yet)
    cdef int64_t spent          # cost units of the expression that is running
    cdef int64_t limit          # of one expression
    cdef int64_t deadline       # moment of time.perf_counter_ns(), 0: none
    cdef int64_t checkpoint     # look at limit and clock when spent exceeds this
    cdef int64_t variables_spent  # cost units of variables.* computed so far, beside spent
    cdef int64_t taken          # bytes of the values that functions made so far
    cdef int nested             # variables that are being computed
    cdef bint rereads           # see _core/eval/rereading.pyx: as before 1.37; the program that runs says so

    # Count the next expression from 0, or go on with one that had spent so much. How far it is to
    # the next look at the clock stays as it was, so that many short expressions are timed like a
    # long one.
    cdef int count_from(self, int64_t spent) except -1
    # Raises CostExceeded or DeadlineExceeded; else sets the next checkpoint.
    cdef int check(self) except -1
    # Raises CostExceeded: too much memory.
    cdef int refuse(self) except -1


cdef Activation activation(Py_ssize_t slots, int64_t limit, int64_t deadline)
# The same over slots that are filled already.
cdef Activation over(list slots, int64_t limit, int64_t deadline)

# Cost units of Kubernetes' model.
cdef inline int charge(Activation act, int64_t units) except -1:
    act.spent += units
    if act.spent > act.checkpoint:
        return act.check()
    return 0

# Work that Kubernetes does not charge for, in units of about 10 ns.
cdef inline int work(Activation act, int64_t units) except -1:
    act.checkpoint -= units
    if act.spent > act.checkpoint:
        return act.check()
    return 0

# Bytes of a value that is about to be made. Kubernetes bounds only cost, and does not charge for
# what `replace` or `format` make: see MOST_TAKEN.
cdef inline int take(Activation act, int64_t size) except -1:
    act.taken += size
    if act.taken > MOST_TAKEN:
        return act.refuse()
    return 0

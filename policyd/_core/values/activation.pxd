"""The state of one evaluation: the values of the variables, cost, memory and deadline."""

from libc.stdint cimport int64_t

cdef enum:
    # Bytes of strings, bytes, lists and maps that the functions of one policy may create for one
    # request: twenty times the largest object that an API server accepts (3 MiB).
    MOST_TAKEN = 64 << 20


cdef enum Form:
    PLAIN   # as JSON: of a custom resource, or made by the expression
    TYPED   # Go's list or map
    STRUCT  # Go's struct


cdef class Typing:
    # Since Kubernetes 1.37, expressions read built-in kinds as Go structs, maps and lists. Values
    # stay plain dicts and lists; their identity determines their form.
    cdef Form form(self, Activation act, object container) except *
    cdef bint same(self, Activation act, dict left, dict right) except -1
    cdef str go_type(self, object container)


cdef class Activation:
    cdef list slots             # values by slot number; MISSING: not set (yet)
    cdef int64_t spent          # cost units of the current expression
    cdef int64_t limit          # of one expression
    cdef int64_t deadline       # time.perf_counter_ns() of the deadline, 0: none
    cdef int64_t checkpoint     # limit and clock are checked when spent exceeds this
    cdef int64_t variables_spent  # cost units of variables.* computed so far, not in spent
    cdef int64_t taken          # bytes of the values that functions created so far
    cdef int nested             # number of variables that are being computed
    # Values of variables that other policies computed for the same request, each with its cost and
    # memory; None: nothing is shared.
    cdef dict shared
    cdef bint rereads           # as before 1.37 (eval/rereading.pyx); set by the program
    cdef bint since_1_38        # see versions.CEL_0_33; set by the program
    cdef Typing typing          # None: all values are plain
    cdef tuple params_kind      # group, version and kind of params

    cdef int count_from(self, int64_t spent) except -1
    cdef int check(self) except -1
    cdef int refuse(self) except -1


# The form of a list or map that an expression sees.
cdef inline Form form_of(Activation act, object container) except *:
    return PLAIN if act.typing is None else act.typing.form(act, container)

cdef Activation activation(Py_ssize_t slots, int64_t limit, int64_t deadline)
cdef Activation over(list slots, int64_t limit, int64_t deadline)

# Charge cost units of Kubernetes' model.
cdef inline int charge(Activation act, int64_t units) except -1:
    act.spent += units
    if act.spent > act.checkpoint:
        return act.check()
    return 0

# Charge for a call or literal that ends because a part is an error: free since 1.38.
cdef inline int charge_ended(Activation act, int64_t units) except -1:
    return 0 if act.since_1_38 else charge(act, units)

# Count work that Kubernetes does not charge, in units of about 10 ns.
cdef inline int work(Activation act, int64_t units) except -1:
    act.checkpoint -= units
    if act.spent > act.checkpoint:
        return act.check()
    return 0

# Count the bytes of a value before it is created. Kubernetes limits only cost, and does not charge
# for the results of `replace` or `format`: see MOST_TAKEN.
cdef inline int take(Activation act, int64_t size) except -1:
    act.taken += size
    if act.taken > MOST_TAKEN:
        return act.refuse()
    return 0

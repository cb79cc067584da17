"""Declaration of CEL functions: one table row per overload, one table per library.

A function takes the activation and up to three values (or a tuple of any number) and returns a
value, a ``CelError``, or ``NO_OVERLOAD`` if an argument does not have the type in its signature.
If the types are known only at run time (dyn), the rows of a name are tried in order; if none fits,
the result is ``no such overload: name(types)``. A function never gets an error as an argument.
Before it processes something large it calls ``work(act, units)``, so that the deadline holds.

A cost function gets the activation, the first and second argument (None if there is none) and the
result; each of them may be a CelError (whose size is 1). Its result is charged instead of 1 unit.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation

ctypedef object (*Function0)(Activation act)
ctypedef object (*Function1)(Activation act, object first)
ctypedef object (*Function2)(Activation act, object first, object second)
ctypedef object (*Function3)(Activation act, object first, object second, object third)
ctypedef object (*FunctionN)(Activation act, tuple arguments)
ctypedef int64_t (*Cost)(Activation act, object first, object second, object result) except? -1


# Converts a constant second argument to the form that the function uses (a compiled pattern). It
# runs once, when the program is planned; if it returns a CelError, the program is rejected.
ctypedef object (*Prepare)(object constant)


cdef class Overload:
    cdef readonly str name       # "startsWith", "sets.contains", "_+_"
    cdef readonly str signature  # "string.startsWith(string) -> bool", "sets.contains(…) -> bool"
    cdef readonly str id         # cel-go's: "starts_with_string"
    cdef readonly str doc        # one line; the tests run "expr // result" examples
    cdef readonly int arity      # arguments and receiver; -1: any number; -2: see declared
    cdef Function0 call0
    cdef Function1 call1
    cdef Function2 call2
    cdef Function3 call3
    cdef FunctionN call_many
    cdef Cost cost               # NULL: 1 unit
    cdef Cost open_cost          # the cost when the overload is chosen at run time
    cdef bint kubernetes         # the cost function is Kubernetes', not cel-go's
    cdef Prepare prepare         # NULL: constants are passed unchanged
    cdef readonly object estimate  # a CostRule of _core/eval/estimates.py; None: 1 unit
    cdef object element          # the Python type of the list's first element, or None: any
    cdef readonly object introduced  # the first KubernetesVersion with it; None: before 1.30
    cdef readonly object removed     # the first KubernetesVersion without it; None: not removed

    # Sets the cost that is always charged: Kubernetes' estimator goes by the function's name.
    # ``estimate`` is the rule for the static estimate.
    cdef Overload costs(self, Cost cost, object estimate=*)
    # Sets the cost for when the checker chose this overload; otherwise 1 unit, as in cel-go.
    cdef Overload costs_when_known(self, Cost cost, object estimate=*)
    # Sets only the estimate: 1 unit is charged, or a node of the planner charges.
    cdef Overload estimated(self, object estimate)
    # Marks one of several rows of a function that differ in the element type of the list.
    cdef Overload of(self, element)
    # The first Kubernetes version (1.MINOR) with it, and the first without it. Two rows with one
    # id, one until and one since a version, are one overload that changed.
    cdef Overload since(self, int minor)
    cdef Overload until(self, int minor)
    # The function takes a constant second argument in prepared form, any other one unchanged.
    cdef Overload prepares(self, Prepare prepare)


cdef Overload nullary(str name, str signature, str id, Function0 function, str doc=*)
cdef Overload unary(str name, str signature, str id, Function1 function, str doc=*)
cdef Overload binary(str name, str signature, str id, Function2 function, str doc=*)
cdef Overload ternary(str name, str signature, str id, Function3 function, str doc=*)
cdef Overload variadic(str name, str signature, str id, FunctionN function, str doc=*)
# An operator for which the planner has nodes: only its types, no function.
cdef Overload declared(str name, str signature, str id)


cdef class Library:
    cdef readonly str name
    cdef readonly tuple overloads

# cel-go's 0.1 units per character, rounded up. cel-go's float arithmetic gives the same.
cdef inline int64_t tenths(int64_t size) noexcept:
    return (size + 9) // 10

# The size without looking inside optionals, unlike the cost rules of cel-go's own functions.
cdef int64_t outer_size(object value) except -1

# Cost functions that several libraries share.
cdef int64_t first_tenths(Activation act, object first, object second, object result) except -1
cdef int64_t second_tenths(Activation act, object first, object second, object result) except -1
cdef int64_t first_fifths(Activation act, object first, object second, object result) except -1
cdef int64_t traversal(Activation act, object first, object second, object result) except -1
cdef int64_t pattern_search(Activation act, object first, object second, object result) except -1

"""How CEL functions are declared: one row of a table per overload, one table per library.

A function takes the activation and one to three values (or a tuple of any number) and returns a
value, a ``CelError``, or ``NO_OVERLOAD`` when an argument is not of the type its signature says:
with arguments that are only known at run time (dyn) the rows of one name are tried in order, and
``no such overload: name(types)`` is the end of it. It never sees an error as argument. Before it
works on something large it calls ``work(act, units)`` so that the deadline holds.

A cost function gets the activation, the first and second argument (None where there is none) and
the result; any of them may be a CelError (which has size 1). It is charged instead of 1 unit.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation

ctypedef object (*Function0)(Activation act)
ctypedef object (*Function1)(Activation act, object first)
ctypedef object (*Function2)(Activation act, object first, object second)
ctypedef object (*Function3)(Activation act, object first, object second, object third)
ctypedef object (*FunctionN)(Activation act, tuple arguments)
ctypedef int64_t (*Cost)(Activation act, object first, object second, object result) except? -1


# Turns a constant second argument into what the function wants (a compiled pattern), once, when the
# program is planned; a CelError refuses the program.
ctypedef object (*Prepare)(object constant)


cdef class Overload:
    cdef readonly str name       # "startsWith", "sets.contains", "_+_"
    cdef readonly str signature  # "string.startsWith(string) -> bool", "sets.contains(…) -> bool"
    cdef readonly str id         # of cel-go: "starts_with_string"
    cdef readonly str doc        # one line; "expr // result" examples are run by the tests
    cdef readonly int arity      # arguments with the receiver; -1: any number; -2: see declared
    cdef Function0 call0
    cdef Function1 call1
    cdef Function2 call2
    cdef Function3 call3
    cdef FunctionN call_many
    cdef Cost cost               # NULL: 1 unit
    cdef Cost open_cost          # the same when the overload is chosen at run time
    cdef bint kubernetes         # the cost is Kubernetes' rule, not cel-go's
    cdef Prepare prepare         # NULL: constants are passed as they are
    cdef readonly object estimate  # a Rule of _core/eval/estimates.py; None: 1 unit
    cdef object element          # the Python type of the list's first element, or None: any
    cdef readonly object introduced  # the KubernetesVersion that it came with; None: before 1.30
    cdef readonly object removed     # the first KubernetesVersion without it; None: it stays

    # Charged always: Kubernetes' estimator goes by the function's name. Beside it the rule of
    # ``estimates`` that says what may be charged.
    cdef Overload costs(self, Cost cost, object estimate=*)
    # Charged only where the checker settled on this overload; 1 unit otherwise, as in cel-go.
    cdef Overload costs_when_known(self, Cost cost, object estimate=*)
    # Only the estimate: 1 unit is charged, or a node of the planner charges.
    cdef Overload estimated(self, object estimate)
    # One of several rows of one function that differ in the type of the list's elements.
    cdef Overload of(self, element)
    # The first version of Kubernetes (1.MINOR) that has it, and the first that has it no more. Two
    # rows of one id, one until and one since a version, are one overload that changed.
    cdef Overload since(self, int minor)
    cdef Overload until(self, int minor)
    # The function takes a constant second argument in prepared form (and any other as it comes).
    cdef Overload prepares(self, Prepare prepare)


cdef Overload nullary(str name, str signature, str id, Function0 function, str doc=*)
cdef Overload unary(str name, str signature, str id, Function1 function, str doc=*)
cdef Overload binary(str name, str signature, str id, Function2 function, str doc=*)
cdef Overload ternary(str name, str signature, str id, Function3 function, str doc=*)
cdef Overload variadic(str name, str signature, str id, FunctionN function, str doc=*)
# A form that the planner has nodes for: only its types, no function.
cdef Overload declared(str name, str signature, str id)


cdef class Library:
    cdef readonly str name
    cdef readonly tuple overloads

# cel-go's 0.1 units per character, rounded up. Its float arithmetic rounds to nothing else.
cdef inline int64_t tenths(int64_t size) noexcept:
    return (size + 9) // 10

# The size for a cost rule that does not look into optionals, as those of cel-go's own functions do.
cdef int64_t outer_size(object value) except -1

# Cost functions that several libraries share.
cdef int64_t first_tenths(Activation act, object first, object second, object result) except -1
cdef int64_t second_tenths(Activation act, object first, object second, object result) except -1
cdef int64_t first_fifths(Activation act, object first, object second, object result) except -1
cdef int64_t traversal(Activation act, object first, object second, object result) except -1
cdef int64_t pattern_search(Activation act, object first, object second, object result) except -1

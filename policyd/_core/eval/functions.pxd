"""Declaration of CEL functions: one table row per overload, one table per library."""

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
    cdef bint typed              # arguments are checked before the function is called
    cdef object first            # the types of the arguments; None: any
    cdef object second
    cdef object third
    cdef object constant         # see given; None: none
    cdef object element          # the Python type of the list's first element, or None: any
    cdef readonly object introduced  # the first KubernetesVersion that has it; None: before 1.30
    cdef readonly object removed     # the first KubernetesVersion that lacks it; None: not removed

    cdef Overload costs(self, Cost cost, object estimate=*)
    cdef Overload costs_when_known(self, Cost cost, object estimate=*)
    cdef Overload estimated(self, object estimate)
    cdef Overload of(self, element)
    cdef Overload unchecked(self)
    cdef Overload given(self, object constant)
    cdef object check(self, dict kinds)
    cdef Overload since(self, int minor)
    cdef Overload until(self, int minor)
    cdef Overload prepares(self, Prepare prepare)


cdef Overload nullary(str name, str signature, str id, Function0 function, str doc=*)
cdef Overload unary(str name, str signature, str id, Function1 function, str doc=*)
cdef Overload binary(str name, str signature, str id, Function2 function, str doc=*)
cdef Overload ternary(str name, str signature, str id, Function3 function, str doc=*)
cdef Overload variadic(str name, str signature, str id, FunctionN function, str doc=*)
cdef Overload declared(str name, str signature, str id)


# cel-go's 0.1 units per character, rounded up. cel-go's float arithmetic gives the same.
cdef inline int64_t tenths(int64_t size) noexcept:
    return (size + 9) // 10

cdef int64_t outer_size(object value) except -1

cdef int64_t first_tenths(Activation act, object first, object second, object result) except -1
cdef int64_t second_tenths(Activation act, object first, object second, object result) except -1
cdef int64_t first_fifths(Activation act, object first, object second, object result) except -1
cdef int64_t traversal(Activation act, object first, object second, object result) except -1
cdef int64_t pattern_search(Activation act, object first, object second, object result) except -1

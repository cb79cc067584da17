"""Rows and tables of CEL functions. The functions themselves are in the libraries in ``lib/``.

A function takes the activation and up to three values (or a tuple of any number) and returns a
value, a ``CelError``, or ``NO_OVERLOAD`` if an argument does not have the type in its signature. If
the types are known only at run time (dyn), the rows of a name are tried in order; if none fits, the
result is ``no such overload: name(types)``. A function never gets an error as an argument. Its
arguments have the types in the signature, unless the row is ``unchecked``. Before it processes
something large it calls ``work(act, units)``, so that the deadline holds.

A cost function gets the activation, the first and second argument (None if there is none) and the
result; each of them may be a CelError (whose size is 1). Its result is charged instead of 1 unit.
"""

from libc.math cimport ceil

from policyd._core.values.activation cimport Activation, work
from policyd._core.values.types cimport MISSING, Duration, Optional, Timestamp, UInt, size_of

from policyd.versions import KubernetesVersion

#: from collections.abc import Mapping
#: from policyd._core.eval.estimates import CostRule

cdef enum:
    ANY_NUMBER = -1
    DECLARED = -2


# The Python types of values; every other type in a signature stands for several.
cdef dict KINDS = {
    "bool": bool,
    "bytes": bytes,
    "double": float,
    "duration": Duration,
    "int": int,
    "list": list,
    "optional_type": Optional,
    "string": str,
    "timestamp": Timestamp,
    "uint": UInt,
}


cdef class Overload:
    #: estimate: CostRule | None
    #: introduced: KubernetesVersion | None
    #: removed: KubernetesVersion | None
    def __init__(self):
        raise TypeError("overloads are created by the library tables")

    cdef Overload costs(self, Cost cost, object estimate=None):
        """Sets the cost that is always charged, because Kubernetes' estimator looks only at the
        name. ``estimate`` is the rule for the static estimate.
        """
        self.open_cost = cost
        self.kubernetes = True
        return self.costs_when_known(cost, estimate)

    cdef Overload costs_when_known(self, Cost cost, object estimate=None):
        """Sets the cost for when the checker chose this overload; otherwise 1 unit, as in cel-go.
        """
        self.cost = cost
        return self.estimated(estimate) if estimate is not None else self

    cdef Overload estimated(self, object estimate):
        """Sets only the estimate: 1 unit is charged, or a node of the planner charges."""
        self.estimate = estimate
        return self

    cdef Overload of(self, element):
        """Marks one of several rows of a function that differ only in the list's element type."""
        self.element = element
        return self

    cdef Overload unchecked(self):
        """Marks a function that checks the types of its arguments itself."""
        self.typed = False
        return self

    cdef Overload given(self, object constant):
        """Fixes the last argument of the function; calls do not pass it."""
        self.arity -= 1
        self.constant = constant
        return self

    cdef object check(self, dict kinds):
        """Derives the types of the arguments from the signature, where it has them."""
        cdef str receiver, rest
        receiver, _, rest = self.signature.partition(self.name + "(")
        names = outermost(receiver[:-1]) + outermost(rest[:rest.rindex(") -> ")])
        self.first, self.second, self.third = [*map(kinds.get, names), None, None, None][:3]

    cdef Overload since(self, int minor):
        """Sets the first Kubernetes version (1.MINOR) with it, and the first without it. An
        overload that changed has two rows with one id: one until a version, one since.
        """
        self.introduced = KubernetesVersion(1, minor)
        return self

    cdef Overload until(self, int minor):
        self.removed = KubernetesVersion(1, minor)
        return self

    cdef Overload prepares(self, Prepare prepare):
        """The function takes a constant second argument in prepared form, any other unchanged."""
        self.prepare = prepare
        return self

    @property
    def charges(self):
        #: () -> bool
        """Whether a call may cost more than 1 unit."""
        return self.cost is not NULL

    @property
    def charges_second(self):
        #: () -> bool
        """Whether the cost of a call depends only on the second argument."""
        return self.cost is second_tenths

    def known_to(self, version):
        #: (KubernetesVersion) -> bool
        """Whether this version of Kubernetes has the overload."""
        if self.introduced is not None and version < self.introduced:
            return False
        return self.removed is None or version < self.removed

    @property
    def runs(self):
        #: () -> bool
        """Whether the overload has a function. Operators have only types."""
        return self.arity != DECLARED

    def prepared(self, constant):
        #: (object) -> object
        """The prepared form of a constant second argument, MISSING if it has none, or a CelError.
        """
        return MISSING if self.prepare is NULL else self.prepare(constant)

    def __repr__(self):
        return f"<Overload {self.id}: {self.signature}>"


cdef list outermost(str types):
    """The names of types without their parameters: ``list(A), int`` gives list and int."""
    cdef list names = [""] if types else []
    cdef str character
    cdef int depth = 0
    for character in types:
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ",":
            names.append("")
        elif depth == 0 and character not in " )":
            names[len(names) - 1] += character
    return names


cdef Overload _row(str name, str signature, str id, int arity, str doc):
    cdef Overload made = Overload.__new__(Overload)
    made.name = name
    made.signature = signature
    made.id = id
    made.arity = arity
    made.doc = doc
    made.typed = True
    return made


cdef Overload nullary(str name, str signature, str id, Function0 function, str doc=""):
    cdef Overload made = _row(name, signature, id, 0, doc)
    made.call0 = function
    return made


cdef Overload unary(str name, str signature, str id, Function1 function, str doc=""):
    cdef Overload made = _row(name, signature, id, 1, doc)
    made.call1 = function
    return made


cdef Overload binary(str name, str signature, str id, Function2 function, str doc=""):
    cdef Overload made = _row(name, signature, id, 2, doc)
    made.call2 = function
    return made


cdef Overload ternary(str name, str signature, str id, Function3 function, str doc=""):
    cdef Overload made = _row(name, signature, id, 3, doc)
    made.call3 = function
    return made


cdef Overload variadic(str name, str signature, str id, FunctionN function, str doc=""):
    cdef Overload made = _row(name, signature, id, ANY_NUMBER, doc)
    made.call_many = function
    return made


cdef Overload declared(str name, str signature, str id):
    """An operator that the planner implements by nodes: only its types, no function."""
    return _row(name, signature, id, DECLARED, "")


cdef class Library:
    cdef readonly str name
    cdef readonly tuple overloads
    #: overloads: tuple[Overload, ...]

    def __init__(self, str name not None, tuple overloads not None, int since=0, kinds=()):
        #: (str, tuple[Overload, ...], int, Mapping[str, type] | tuple[()] | None) -> None
        """``since`` is the first minor version with the library; 0 means before 1.30. ``kinds`` are
        the Python classes of its own types; None if its functions check their arguments themselves.
        """
        cdef Overload row
        self.name = name
        self.overloads = overloads
        for row in overloads:
            if since and row.introduced is None:
                row.since(since)
            if kinds is not None and row.typed:
                row.check({**KINDS, **dict(kinds)})

    def __repr__(self):
        return f"<Library {self.name}: {len(self.overloads)} overloads>"


cdef int64_t outer_size(object value) except -1:
    """The size without looking inside optionals, unlike the cost rules of cel-go's own functions.
    """
    return 1 if type(value) is Optional else size_of(value)


cdef int64_t first_tenths(Activation act, object first, object second, object result) except -1:
    """Cost functions that several libraries share."""
    return tenths(size_of(first))


cdef int64_t second_tenths(
    Activation act, object first, object second, object result
) except -1:
    return tenths(size_of(second))


cdef int64_t first_fifths(Activation act, object first, object second, object result) except -1:
    return <int64_t>ceil(<double>size_of(first) * 2 * 0.1)


cdef int64_t traversal(Activation act, object first, object second, object result) except -1:
    """Kubernetes' traversalCost of the first argument: 1 per scalar, a tenth of the bytes of a
    string.
    """
    return _traversal(act, first, 0)


cdef int64_t _traversal(Activation act, object value, int depth) except -1:
    """Reads the clock, because a value may occur in a list many times."""
    cdef int64_t total = 0
    kind = type(value)
    work(act, 1)
    if kind is str:
        return <int64_t>(<double>utf8_size(<str>value) * 0.1)
    if kind is bytes:
        return <int64_t>(<double>len(<bytes>value) * 0.1)
    if depth >= 1000:
        return 1
    if kind is list:
        for item in <list>value:
            total += _traversal(act, item, depth + 1)
        return total
    if kind is dict:
        for key, item in (<dict>value).items():
            total += _traversal(act, key, depth + 1) + _traversal(act, item, depth + 1)
        return total
    return 1


cdef int64_t utf8_size(str text) except -1:
    if text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))


cdef int64_t pattern_search(Activation act, object first, object second, object result) except -1:
    """Length of the string times length of the pattern, as cel-go charges regular expressions."""
    cdef int64_t text = <int64_t>ceil((1.0 + <double>size_of(first)) * 0.1)
    return text * <int64_t>ceil(<double>size_of(second) * 0.25)

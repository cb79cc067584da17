"""Calls. Arguments are evaluated from left to right; if one is an error, it is the result.

As in cel-go, calls with one or two arguments evaluate and charge all of them even if one is an
error. Calls with more arguments, calls with two whose overload is chosen at run time, and calls
with a literal pattern stop at the first error. Since Kubernetes 1.38 all of them do, and such a
call is free; only ``!`` is not.
"""

cimport cython
from libc.stdint cimport INT64_MAX

from policyd._core.eval.functions cimport Overload
from policyd._core.values.activation cimport charge
from policyd._core.values.errors cimport NO_OVERLOAD, NO_SUCH_OVERLOAD, CelError, error
from policyd._core.values.types cimport MISSING, Optional, type_name

#: from policyd._core.eval.functions import Overload
#: from policyd._core.eval.nodes import Node


cdef class CallNode(Node):
    """``known``: the checker chose the single overload given. This decides what is charged."""
    #: overloads: tuple[Overload, ...]

    def _declare(self, str name not None, tuple overloads not None, known):
        cdef Overload first = overloads[0]
        self.name = name
        self.overloads = overloads
        self.cost = first.cost if known else first.open_cost
        self.kubernetes = first.kubernetes

    cdef inline int64_t price(
        self, Activation act, object first, object second, object result
    ) except? -1:
        """The cost of the call."""
        if self.cost is NULL:
            return 1
        if self.kubernetes or act.since_1_38:
            # Unlike cel-go before 0.33, Kubernetes looks inside optionals only for a format.
            if type(first) is Optional and self.name != "flatten":
                first = (<Optional>first).held if self.name == "validate" else True
            if type(second) is Optional:
                second = True
        return self.cost(act, first, second, result)


# cel-go implements each of these in one function for all types. Its message names the function,
# unless the first operand has a type that is listed here or in RECEIVERS.
cdef frozenset ORDERED = frozenset((
    "bool", "bytes", "double", "google.protobuf.Duration", "google.protobuf.Timestamp", "int",
    "string", "uint"))
cdef frozenset RECEIVERS = frozenset((
    "string", "google.protobuf.Duration", "google.protobuf.Timestamp"))
# These functions check their arguments themselves. Their message does not name the function.
cdef frozenset BARE = frozenset(("!_", "@in", "contains", "endsWith", "startsWith"))
cdef dict OPERANDS = {
    "_+_": (ORDERED | {"list"}) - {"bool"},
    "_-_": frozenset((
        "double", "google.protobuf.Duration", "google.protobuf.Timestamp", "int", "uint")),
    "_*_": frozenset(("double", "int", "uint")),
    "_/_": frozenset(("double", "int", "uint")),
    "_%_": frozenset(("int", "uint")),
    "-_": frozenset(("bool", "double", "int")),
    "_<_": ORDERED,
    "_<=_": ORDERED,
    "_>_": ORDERED,
    "_>=_": ORDERED,
    "size": frozenset(),
    "sort": frozenset(),
    "@sortByAssociatedKeys": frozenset(),
    "matches": frozenset(("string",)),
}


cdef CelError no_overload(str name, tuple arguments):
    operands = OPERANDS.get(name)
    if name in BARE:
        return NO_SUCH_OVERLOAD
    if operands is not None:
        if type_name(arguments[0]) in operands | RECEIVERS:
            return NO_SUCH_OVERLOAD
        return error(f"no such overload: {name}")
    types = ", ".join([type_name(argument) for argument in arguments])
    return error(f"no such overload: {name}({types})")


cdef inline object called1(Overload row, Activation act, object first):
    """The result of the function; NO_OVERLOAD if the argument has the wrong type."""
    if row.first is not None and type(first) is not row.first:
        return NO_OVERLOAD
    if row.call1 is not NULL:
        return row.call1(act, first)
    if row.call2 is not NULL:
        return row.call2(act, first, row.constant)
    return row.call_many(act, (first,))


cdef inline object called2(Overload row, Activation act, object first, object second):
    if (row.first is not None and type(first) is not row.first) or (
        row.second is not None and type(second) is not row.second
    ):
        return NO_OVERLOAD
    if row.call2 is not NULL:
        return row.call2(act, first, second)
    if row.call3 is not NULL:
        return row.call3(act, first, second, row.constant)
    return row.call_many(act, (first, second))


cdef object called_many(Overload row, Activation act, tuple values):
    """The result of the function for none, three or more arguments."""
    if row.call0 is not NULL:
        return row.call0(act)
    if row.call1 is not NULL:
        return row.call1(act, row.constant)
    if row.call3 is NULL:
        return row.call_many(act, values)
    first, second, third = values
    if (row.first is not None and type(first) is not row.first) or (
        row.second is not None and type(second) is not row.second
    ) or (row.third is not None and type(third) is not row.third):
        return NO_OVERLOAD
    return row.call3(act, first, second, third)


cdef bint _starts_with_other(object items, object element):
    """Whether the first element has the wrong type. cel-go checks no other element."""
    return type(items) is list and <list>items and type((<list>items)[0]) is not element


@cython.final
cdef class Call1(CallNode):
    cdef Node first
    cdef Overload only   # the only overload, or None
    cdef object element  # see Overload

    def __init__(self, name, overloads, Node first not None, known=True):
        #: (str, tuple[Overload, ...], Node, bool) -> None
        self._declare(name, overloads, known)
        self.first = first
        if len(self.overloads) == 1:
            self.only = self.overloads[0]
            self.element = self.only.element

    cdef object eval(self, Activation act):
        first = self.first.eval(act)
        if type(first) is CelError:
            if act.since_1_38 and self.name != "!_":
                return first
            result = first
        elif self.only is None:
            result = self._dispatch(act, first)
        elif self.element is not None and _starts_with_other(first, self.element):
            result = NO_OVERLOAD
        else:
            result = called1(self.only, act, first)
        charge(act, self.price(act, first, None, result))
        return no_overload(self.name, (first,)) if result is NO_OVERLOAD else result

    cdef object _dispatch(self, Activation act, object first):
        cdef Overload overload
        for overload in self.overloads:
            result = called1(overload, act, first)
            if result is not NO_OVERLOAD:
                return result
        return NO_OVERLOAD


@cython.final
cdef class Call2(CallNode):
    def __init__(self, name, overloads, Node first not None, Node second not None, known=True,
                 prepared=MISSING):
        #: (str, tuple[Overload, ...], Node, Node, bool, object) -> None
        self._declare(name, overloads, known)
        self.first = first
        self.second = second
        self.prepared = prepared
        self.stops = prepared is not MISSING or name == "format" or (
            len(self.overloads) > 1 and not (name in OPERANDS or name in BARE))
        if known or len(self.overloads) == 1:
            self.only = self.overloads[0]

    cdef object eval(self, Activation act):
        first = self.first.eval(act)
        if type(first) is CelError and (self.stops or act.since_1_38):
            return first
        second = self.second.eval(act)
        if type(first) is CelError:
            result = first
        elif type(second) is CelError:
            if act.since_1_38:
                return second
            result = second
        elif self.only is not None:
            result = called2(
                self.only, act, first, second if self.prepared is MISSING else self.prepared)
            if result is NO_OVERLOAD and len(self.overloads) > 1:
                result = self._dispatch(act, first, second)
        else:
            result = self._dispatch(act, first, second)
        charge(act, self.price(act, first, second, result))
        if act.spent < 0:  # flatten(-9): the cost is unsigned in cel-go, so it exceeds any limit
            charge(act, INT64_MAX)
        return no_overload(self.name, (first, second)) if result is NO_OVERLOAD else result

    cdef object _dispatch(self, Activation act, object first, object second):
        cdef Overload overload
        for overload in self.overloads:
            result = called2(overload, act, first, second)
            if result is not NO_OVERLOAD:
                return result
        return NO_OVERLOAD


@cython.final
cdef class CallMany(CallNode):
    """A call with none, three or more arguments."""
    cdef tuple arguments
    cdef object prepared

    def __init__(self, name, overloads, tuple arguments not None, known=True, prepared=MISSING):
        #: (str, tuple[Overload, ...], tuple[Node, ...], bool, object) -> None
        self._declare(name, overloads, known)
        self.arguments = arguments
        self.prepared = prepared

    cdef object eval(self, Activation act):
        cdef Overload overload
        cdef list given = []
        cdef tuple arguments
        cdef Py_ssize_t i, last = len(self.arguments) - 1
        result = NO_OVERLOAD
        for i in range(last + 1):
            value = (<Node>self.arguments[i]).eval(act)
            if type(value) is CelError:
                if i < last or act.since_1_38:
                    return value
                result = value
            given.append(value)
        first = given[0] if given else None
        second = given[1] if last > 0 else None
        if result is NO_OVERLOAD:
            arguments = tuple(given)
            if self.prepared is not MISSING:
                arguments = (first, self.prepared, *given[2:])
            for overload in self.overloads:
                result = called_many(overload, act, arguments)
                if result is not NO_OVERLOAD:
                    break
        charge(act, self.price(act, first, second, result))
        return no_overload(self.name, tuple(given)) if result is NO_OVERLOAD else result

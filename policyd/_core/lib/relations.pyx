"""Order, ``in``, ``!`` and ``size``.

``1 < 2.5``, ``"a" < "b"`` (by UTF-8 bytes), ``2 in [1, 2]``, ``"k" in {"k": 1}``,
``size("äö")`` is 2.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport NO_OVERLOAD, error
from policyd._core.values.equality cimport compare
from policyd._core.values.equality cimport contains as container_contains
from policyd._core.eval.functions cimport Function2, Overload, binary, tenths, unary
from policyd._core.values.types cimport Duration, Timestamp, UInt, size_of

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library


cdef object unordered(Activation act, int order, object left, object right):
    """The result for two values without an order. Since 1.38 nothing is less or more than NaN."""
    if act.since_1_38 and (is_nan(left) or (is_nan(right) and type(left) in COMPARABLE)):
        return False
    return error("NaN values cannot be ordered") if order == 3 else NO_OVERLOAD


# The types of values that have an order.
cdef frozenset COMPARABLE = frozenset((bool, bytes, float, int, str, UInt, Duration, Timestamp))


cdef bint is_nan(object value):
    return type(value) is float and value != value


cdef object less(Activation act, object left, object right):
    cdef int order = compare(act, left, right)
    return unordered(act, order, left, right) if order > 1 else order < 0


cdef object less_equals(Activation act, object left, object right):
    cdef int order = compare(act, left, right)
    return unordered(act, order, left, right) if order > 1 else order <= 0


cdef object greater(Activation act, object left, object right):
    cdef int order = compare(act, left, right)
    return unordered(act, order, left, right) if order > 1 else order > 0


cdef object greater_equals(Activation act, object left, object right):
    cdef int order = compare(act, left, right)
    return unordered(act, order, left, right) if order > 1 else order >= 0


cdef object contains(Activation act, object value, object container):
    return container_contains(act, container, value)


cdef object size(Activation act, object value):
    kind = type(value)
    if kind is list or kind is str or kind is dict or kind is bytes:
        return size_of(value)
    return NO_OVERLOAD


cdef object negation(Activation act, object value):
    if value is True:
        return False
    return True if value is False else NO_OVERLOAD


cdef int64_t shorter_tenths(Activation act, object left, object right, object result) except -1:
    return tenths(min(size_of(left), size_of(right)))


cdef int64_t container_size(
    Activation act, object value, object container, object result
) except -1:
    return size_of(container)


cdef tuple NUMBERS = (("int", "int64"), ("uint", "uint64"), ("double", "double"))


cdef Overload relation(str name, str word, Function2 function, str left, str right, str id):
    return binary(name, f"{name}({left}, {right}) -> bool", f"{word}_{id}", function)


cdef tuple order_rows(str name, str word, Function2 function):
    """The rows of one order operator, with ids like ``less_int64``, ``less_int64_double``."""
    rows = []
    for left, left_id in NUMBERS:
        for right, right_id in NUMBERS:
            id = left_id if left == right else f"{left_id}_{right_id}"
            rows.append(relation(name, word, function, left, right, id))
    for kind in ("string", "bytes"):
        row = relation(name, word, function, kind, kind, kind)
        rows.append(row.costs_when_known(shorter_tenths, estimates.comparison))
    rows.append(relation(name, word, function, "bool", "bool", "bool"))
    return tuple(rows)


LIBRARY = Library("relations", (
    *order_rows("_<_", "less", less),
    *order_rows("_<=_", "less_equals", less_equals),
    *order_rows("_>_", "greater", greater),
    *order_rows("_>=_", "greater_equals", greater_equals),
    binary("@in", "@in(A, list(A)) -> bool", "in_list", contains, "2 in [1, 2] // true")
    .costs_when_known(container_size, estimates.membership),
    binary("@in", "@in(A, map(A, B)) -> bool", "in_map", contains, "'k' in {'k': 1} // true"),
    unary("!_", "!_(bool) -> bool", "logical_not", negation, "!true // false"),
    unary("size", "size(bytes) -> int", "size_bytes", size, "size(b'ab') // 2"),
    unary("size", "bytes.size() -> int", "bytes_size", size, "b'ab'.size() // 2"),
    unary("size", "size(list(A)) -> int", "size_list", size, "size([1]) // 1"),
    unary("size", "list(A).size() -> int", "list_size", size, "[1].size() // 1"),
    unary("size", "size(map(A, B)) -> int", "size_map", size, "size({'a': 1}) // 1"),
    unary("size", "map(A, B).size() -> int", "map_size", size, "{'a': 1}.size() // 1"),
    unary("size", "size(string) -> int", "size_string", size, "size('ä') // 1"),
    unary("size", "string.size() -> int", "string_size", size, "'ä'.size() // 1"),
))

"""Kubernetes' list functions.

``[1, 2].isSorted()``, ``.min()``, ``.max()``: of int, uint, double, bool, duration, timestamp,
string, bytes; ``.sum()``: of int, uint, double, duration; ``.indexOf(1)``, ``.lastIndexOf(1)``: -1
if the list does not contain the value; ``.includes(1)``.

Cost: one pass over the list, 1 unit per scalar, a tenth of the bytes of a string.
"""

from policyd._core.values.activation cimport Activation, work
from policyd._core.values.errors cimport NO_OVERLOAD, NO_SUCH_OVERLOAD, CelError, error
from policyd._core.values.equality cimport compare, equal
from policyd._core.eval.functions cimport binary, traversal, unary
from policyd._core.lib.operators cimport add
from policyd._core.lib.time_arithmetic cimport add_durations
from policyd._core.values.types cimport Duration, Timestamp, UInt, duration, uint

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library

cdef dict COMPARABLE = {
    int: "int",
    UInt: "uint",
    float: "double",
    bool: "bool",
    Duration: "duration",
    Timestamp: "timestamp",
    str: "string",
    bytes: "bytes",
}


cdef bint is_list_of_comparable(object items):
    """Whether the first element is comparable: it selects the overload."""
    if type(items) is not list:
        return False
    return not <list> items or type((<list> items)[0]) in COMPARABLE


cdef object is_sorted(Activation act, object items):
    if not is_list_of_comparable(items):
        return NO_OVERLOAD
    cdef Py_ssize_t i
    cdef list values = <list> items
    for i in range(1, len(values)):
        work(act, 1)
        if type(values[i]) not in COMPARABLE:
            return NO_SUCH_OVERLOAD
        if compare(act, values[i - 1], values[i]) == 1:
            return False
    return True


cdef object extreme(Activation act, object items, object name):
    """The least (``name``: min) or greatest (max) element. Skips elements that cannot be compared
    with it.
    """
    cdef int replaced_when = 1 if name == "min" else -1
    if not is_list_of_comparable(items):
        return NO_OVERLOAD
    cdef list values = <list> items
    if not values:
        return error(f"{name} called on empty list")
    best = values[0]
    for value in values:
        work(act, 1)
        if type(value) not in COMPARABLE:
            return NO_SUCH_OVERLOAD
        if compare(act, best, value) == replaced_when:
            best = value
    return best


cdef bint is_list_of(object items, object kind):
    if type(items) is not list:
        return False
    return not <list> items or type((<list> items)[0]) is kind


cdef object sum_of(Activation act, object items, object zero):
    kind = type(zero)
    if not is_list_of(items, kind):
        return NO_OVERLOAD
    total = zero
    for item in <list> items:
        work(act, 1)
        if type(item) is not kind:
            return NO_SUCH_OVERLOAD
        total = add_durations(act, total, item) if kind is Duration else add(act, total, item)
        if type(total) is CelError:
            break
    return total


cdef object index_of(Activation act, object items, object wanted):
    cdef Py_ssize_t i
    for i in range(len(<list> items)):
        work(act, 1)
        if equal(act, (<list> items)[i], wanted) is True:
            return i
    return -1


cdef object last_index_of(Activation act, object items, object wanted):
    cdef Py_ssize_t i
    for i in range(len(<list> items) - 1, -1, -1):
        work(act, 1)
        if equal(act, (<list> items)[i], wanted) is True:
            return i
    return -1


cdef object includes(Activation act, object items, object wanted):
    """``x.includes(y)`` is equality if x is not a list."""
    if type(items) is not list:
        return equal(act, items, wanted) is True
    return index_of(act, items, wanted) >= 0


def _includes_estimate(operands):
    whole = operands[0]
    return estimates.Charge(whole.size) if whole.part is None else estimates.traversal(operands)


LIBRARY = Library("lists", (
    *[
        unary(
            "isSorted", f"list({name}).isSorted() -> bool", f"list_{name}_is_sorted_bool",
            is_sorted,
            "[1, 1, 2].isSorted() // true" if name == "int" else "",
        ).costs(traversal, estimates.traversal).of(kind)
        for kind, name in COMPARABLE.items()
    ],
    binary(
        "sum", "list(int).sum() -> int", "list_int_sum_int", sum_of, "[1, 2, 3].sum() // 6",
    ).given(0).costs(traversal, estimates.traversal),
    binary(
        "sum", "list(uint).sum() -> uint", "list_uint_sum_uint", sum_of, "[1u, 2u].sum() // 3u",
    ).given(uint(0)).costs(traversal, estimates.traversal),
    binary(
        "sum", "list(double).sum() -> double", "list_double_sum_double", sum_of,
        "[1.5, 2.0].sum() // 3.5",
    ).given(0.0).costs(traversal, estimates.traversal),
    binary(
        "sum", "list(duration).sum() -> duration", "list_duration_sum_duration", sum_of,
        "[duration('1m'), duration('1s')].sum() == duration('61s') // true",
    ).given(duration(0)).costs(traversal, estimates.traversal),
    *[
        binary(
            "max", f"list({name}).max() -> {name}", f"list_{name}_max_{name}", extreme,
            "[1, 3, 2].max() // 3" if name == "int" else "",
        ).given("max").costs(traversal, estimates.traversal).of(kind)
        for kind, name in COMPARABLE.items()
    ],
    *[
        binary(
            "min", f"list({name}).min() -> {name}", f"list_{name}_min_{name}", extreme,
            "['b', 'a'].min() // 'a'" if name == "string" else "",
        ).given("min").costs(traversal, estimates.traversal).of(kind)
        for kind, name in COMPARABLE.items()
    ],
    binary(
        "indexOf", "list(A).indexOf(A) -> int", "list_a_index_of_int", index_of,
        "[1, 2, 2].indexOf(2) // 1",
    ).costs(traversal, estimates.traversal),
    binary(
        "lastIndexOf", "list(A).lastIndexOf(A) -> int", "list_a_last_index_of_int", last_index_of,
        "[1, 2, 2].lastIndexOf(2) // 2",
    ).costs(traversal, estimates.traversal),
    binary(
        "includes", "dyn.includes(dyn) -> bool", "list_includes_dyn_dyn", includes,
        "[1, 2, 3].includes(2) // true",
    ).costs(traversal, _includes_estimate).since(37),
))

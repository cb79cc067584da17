"""Lists as sets (cel-go's extension library "sets").

``sets.contains([1, 2], [2])`` (every element of the second is in the first),
``sets.equivalent([1, 2], [2, 1, 1])``, ``sets.intersects([1], [1, 2])``. Elements are compared by
``==``.

Cost: 1 plus the product of the two sizes; 1 plus twice the product for ``equivalent``.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.values.equality cimport contains
from policyd._core.eval.functions cimport binary, outer_size

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library


cdef object contains_all(Activation act, object items, object wanted):
    for item in <list> wanted:
        if contains(act, items, item) is not True:
            return False
    return True


cdef object equivalent(Activation act, object left, object right):
    found = contains_all(act, left, right)
    return contains_all(act, right, left) if found is True else found


cdef object intersects(Activation act, object left, object right):
    for item in <list> left:
        if contains(act, right, item) is True:
            return True
    return False


cdef int64_t one_way(Activation act, object first, object second, object result) except -1:
    return 1 + outer_size(first) * outer_size(second)


cdef int64_t both_ways(Activation act, object first, object second, object result) except -1:
    return 1 + 2 * outer_size(first) * outer_size(second)


def _one_way_estimate(operands):
    return estimates.Charge(operands[0].size.times(operands[1].size).plus(estimates.ONE))


def _both_ways_estimate(operands):
    return estimates.Charge(
        operands[0].size.times(operands[1].size).scaled(2).plus(estimates.ONE)
    )


LIBRARY = Library("sets", (
    binary(
        "sets.contains", "sets.contains(list(T), list(T)) -> bool", "list_sets_contains_list",
        contains_all, "sets.contains([1, 2, 3], [2, 2, 1]) // true",
    ).costs_when_known(one_way, _one_way_estimate),
    binary(
        "sets.equivalent", "sets.equivalent(list(T), list(T)) -> bool",
        "list_sets_equivalent_list", equivalent, "sets.equivalent([1, 2], [2, 1, 1]) // true",
    ).costs_when_known(both_ways, _both_ways_estimate),
    binary(
        "sets.intersects", "sets.intersects(list(T), list(T)) -> bool",
        "list_sets_intersects_list", intersects, "sets.intersects([1], [2, 3]) // false",
    ).costs_when_known(one_way, _one_way_estimate),
))

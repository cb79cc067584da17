"""Functions that create new lists (cel-go's extension library "lists", version 3).

``[1, 2, 3].slice(0, 2)``, ``[[1], [2]].flatten()``, ``[[[1]]].flatten(2)``, ``[2, 1].sort()``,
``lists.range(3)``, ``[1, 2].reverse()``, ``[1, 1].distinct()``. ``sortBy`` is a macro that calls
``@sortByAssociatedKeys``.

Cost: 11 plus the size of the result (``slice``, ``range``, ``reverse``) or the size of the receiver
times the depth (``flatten``); ``sort`` and ``distinct``: 11 plus twice the square of the size, 2.1
times for strings and bytes.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport MOST_TAKEN, Activation, charge, take, work
from policyd._core.values.errors cimport CelError, error
from policyd._core.values.equality cimport compare, equal, go_name_of
from policyd._core.eval.functions cimport binary, outer_size, ternary, unary
from policyd._core.values.types cimport (
    Duration,
    Optional,
    Timestamp,
    UInt,
    size_of,
    type_name,
)

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library
from policyd.errors import CelPanic

#: LIBRARY: Library

cdef enum:
    CALL_AND_LIST = 11
    ITEM = 8       # bytes of a list for each of its items
    NUMBER = 32    # bytes of an int
    SORT_KEY = 56  # bytes of a key and its entry in the lists of a sort
    # cel-go's limit since 1.37.
    MAX_RANGE = 1_000_000
    # Go's sort.Slice is a stable insertion sort up to this size.
    SMALL = 12
cdef int64_t UNPAYABLE = 1 << 60
# Go types with a method Add, the first that a list must have.
cdef frozenset ADDABLE = frozenset((int, UInt, float, str, bytes, Duration, Timestamp))

cdef dict COMPARABLE = {
    int: "int",
    UInt: "uint",
    float: "double",
    bool: "bool",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    str: "string",
    bytes: "bytes",
}


cdef class _Ordered:
    """A sort key in CEL's order; NaN is not less than anything. Comparisons read the clock."""

    cdef Activation act
    cdef object key

    def __lt__(self, _Ordered other not None):
        work(self.act, 1)
        return compare(self.act, self.key, other.key) == -1


cdef _Ordered ordered(Activation act, object key):
    cdef _Ordered made = _Ordered.__new__(_Ordered)
    work(act, 1)
    made.act = act
    made.key = key
    return made


# slice, range, reverse


cdef object cut(Activation act, object items, object start, object end):
    cdef list values = <list> items
    cdef int64_t first = start, last = end
    if first < 0 or last < 0:
        return error(f"cannot slice({first}, {last}), negative indexes not supported")
    if first > last:
        return error(
            f"cannot slice({first}, {last}), start index must be less than or equal to end index"
        )
    if last > len(values):
        return error(f"cannot slice({first}, {last}), list is length {len(values)}")
    take(act, (last - first) * ITEM)
    return values[first:last]


cdef object integers(Activation act, object end):
    if end < 0:
        return error(f"lists.range: size must be non-negative, got {end}")
    if end > MAX_RANGE:
        return error(f"lists.range: size {end} exceeds maximum allowed ({MAX_RANGE})")
    return integers_before_37(act, end)


cdef object integers_before_37(Activation act, object end):
    cdef int64_t count = max(<int64_t> end, 0)
    if act.spent + count > act.limit:
        charge(act, count)  # raises: the list would exceed the cost limit
    work(act, count)
    take(act, min(count, <int64_t> MOST_TAKEN) * (ITEM + NUMBER))
    return list(range(count))


cdef object backwards(Activation act, object items):
    take(act, len(<list> items) * ITEM)
    return (<list> items)[::-1]


# flatten


cdef str full_name(object value, str optional="optional_type(dyn)"):
    if type(value) is Optional:
        return optional
    if type(value) is list:
        return "list(dyn)"
    return "map(dyn, dyn)" if type(value) is dict else type_name(value)


cdef object flatten(Activation act, object items):
    if type(items) is not list:
        return error(f"no such overload: {full_name(items)}.flatten()")
    return flattened(act, <list> items, 1)


cdef object flatten_before_37(Activation act, object items):
    if type(items) is Optional:
        return error("no such overload: optional_type.flatten()")
    return flatten(act, items)


cdef object flatten_to_before_37(Activation act, object items, object depth):
    if type(items) is Optional or type(items) is list and type(depth) is Optional:
        first, second = full_name(items, "optional_type"), full_name(depth, "optional_type")
        return error(f"no such overload: {first}.flatten({second})")
    return flatten_to(act, items, depth)


cdef object flatten_to(Activation act, object items, object depth):
    if type(items) is not list or type(depth) is not int:
        return error(f"no such overload: {full_name(items)}.flatten({full_name(depth)})")
    if depth < 0:
        return error("level must be non-negative")
    return flattened(act, <list> items, <int64_t> depth)


cdef list flattened(Activation act, list items, int64_t depth):
    """The items of the lists inside up to ``depth`` lists. ``outer`` are the lists around the
    current one, each with the index of its next item.
    """
    cdef list result = [], outer = []
    cdef Py_ssize_t at = 0
    while True:
        if at == len(items):
            if not outer:
                return result
            items, at = outer.pop()
            continue
        item = items[at]
        at += 1
        work(act, 1)
        if type(item) is list and len(outer) < depth:
            outer.append((items, at))
            items, at = item, 0
        else:
            take(act, ITEM)
            result.append(item)


# sort, distinct


cdef object sort(Activation act, object items):
    return sorted_by(act, <list> items, <list> items)


cdef object sort_by_keys(Activation act, object items, object keys):
    if len(<list> items) != len(<list> keys):
        return error(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(<list> items)} and {len(<list> keys)} elements respectively"
        )
    return sorted_by(act, <list> items, <list> keys)


cdef object sorted_by(Activation act, list items, list keys):
    cdef Py_ssize_t i, j, size = len(items)
    if not items:
        return items
    kind = type(keys[0])
    if kind not in COMPARABLE:
        return error("list elements must be comparable")
    for key in keys:
        work(act, 1)
        if type(key) is not kind:
            return error("list elements must have the same type")
    if size <= SMALL:
        work(act, size * 16)
    else:
        take(act, size * (ITEM + NUMBER + SORT_KEY))
    cdef list order = list(range(size))
    if size > SMALL:
        order.sort(key=[ordered(act, key) for key in keys].__getitem__)
    else:
        for i in range(1, size):
            j = i
            while j > 0 and compare(act, keys[order[j]], keys[order[j - 1]]) == -1:
                order[j - 1], order[j] = order[j], order[j - 1]
                j -= 1
    return [items[i] for i in order]


cdef object distinct(Activation act, object items):
    cdef list result = []
    for item in <list> items:
        for other in result:
            work(act, 1)
            if equal(act, item, other) is True:
                break
        else:
            take(act, ITEM)
            result.append(item)
    return result or items


# Costs


cdef str given_name(Activation act, object value):
    """The Go type of an argument, which may be an error."""
    return "*types.Err" if type(value) is CelError else go_name_of(act, value)


cdef int64_t output_size(Activation act, object first, object second, object result) except -1:
    """An error has a size before 1.38, also NO_OVERLOAD."""
    if type(result) is not list and act.since_1_38:
        return CALL_AND_LIST
    return size_of(result) + CALL_AND_LIST


cdef int64_t input_size(Activation act, object first, object second, object result) except -1:
    return (size_of(first) if act.since_1_38 else outer_size(first)) + CALL_AND_LIST


cdef int64_t depth_times_size(
    Activation act, object first, object second, object result
) except? -1:
    if act.since_1_38:
        depth = (<UInt> second).value if type(second) is UInt else second
        depth = max(depth, 0) if type(depth) is int else 1
        return <int64_t> min(depth * size_of(first) + CALL_AND_LIST, UNPAYABLE)
    if type(second) is int and second < 0:
        return outer_size(first) + CALL_AND_LIST
    return depth_times_size_before_37(act, first, second, result)


cdef int64_t depth_times_size_before_37(
    Activation act, object first, object second, object result
) except? -1:
    if type(second) is not int:
        raise CelPanic(f"interface conversion: ref.Val is {given_name(act, second)}, not types.Int")
    cdef double cost = <double> <int64_t> second * outer_size(first) + CALL_AND_LIST
    return <int64_t> max(-UNPAYABLE, min(cost, UNPAYABLE))


cdef int64_t self_compare(Activation act, object first, object second, object result) except -1:
    if type(first) is not list:  # the argument may have another type or be an error
        method = "Contains" if type(first) in ADDABLE else "Add"
        raise CelPanic(
            f"interface conversion: {given_name(act, first)} is not traits.Lister: "
            f"missing method {method}"
        )
    cdef double size = size_of(first)
    cdef double factor = 2
    if <list> first and type((<list> first)[0]) in (str, bytes):
        factor += 0.1
    return <int64_t> (size * size * factor) + CALL_AND_LIST


cdef int64_t keys_compare(Activation act, object first, object second, object result) except -1:
    return self_compare(act, second, None, result)


cdef object number_of(operand, object otherwise):
    """The value of a literal, as cel-go uses it; ``otherwise`` if it is not a literal."""
    return otherwise if operand.number is None else max(operand.number, 0)


def _slice_estimate(operands):
    items, start, end = operands
    size = number_of(end, items.size.max) - number_of(start, 0)
    return estimates.allocation(estimates.exactly(size % (estimates.MOST + 1)))


def _flatten_estimate(operands):
    depth = number_of(operands[1], estimates.MOST) if len(operands) > 1 else 1
    return estimates.allocation(operands[0].size, depth)


def _distinct_estimate(operands):
    size = operands[0].size
    return estimates.allocation(size.times(size), 2)


def _sort_estimate(operands):
    """Every key is compared with every other."""
    size = operands[-1].size
    return estimates.allocation(size.times(size), 2)


def _sort_strings_estimate(operands):
    size = operands[-1].size
    return estimates.allocation(size.times(size), 2.1)


cdef object sorting(str kind):
    return _sort_strings_estimate if kind in ("string", "bytes") else _sort_estimate


def _range_estimate(operands):
    return estimates.allocation(estimates.exactly(number_of(operands[0], estimates.MOST)))


def _reverse_estimate(operands):
    return estimates.allocation(operands[0].size)


LIBRARY = Library("list_extensions", (
    ternary(
        "slice", "list(T).slice(int, int) -> list(T)", "list_slice", cut,
        "[1, 2, 3, 4].slice(1, 3) // [2, 3]",
    ).costs_when_known(output_size, _slice_estimate),
    unary(
        "flatten", "list(list(T)).flatten() -> list(T)", "list_flatten", flatten_before_37,
    ).unchecked().costs_when_known(input_size, _flatten_estimate).until(37),
    unary(
        "flatten", "list(list(T)).flatten() -> list(T)", "list_flatten", flatten,
        "[[1, 2], [3]].flatten() // [1, 2, 3]",
    ).unchecked().costs_when_known(input_size, _flatten_estimate).since(37),
    binary(
        "flatten", "list(dyn).flatten(int) -> list(dyn)", "list_flatten_int", flatten_to_before_37,
    ).unchecked().costs_when_known(depth_times_size_before_37, _flatten_estimate).until(37),
    binary(
        "flatten", "list(dyn).flatten(int) -> list(dyn)", "list_flatten_int", flatten_to,
        "[[[1, 2]], [[3]]].flatten(2) // [1, 2, 3]",
    ).unchecked().costs_when_known(depth_times_size, _flatten_estimate).since(37),
    *[
        unary(
            "sort", f"list({name}).sort() -> list({name})", f"list_{name}_sort", sort,
            "[3, 1, 2].sort() // [1, 2, 3]" if name == "int" else "",
        ).costs_when_known(self_compare, sorting(name))
        for name in COMPARABLE.values()
    ],
    *[
        binary(
            "@sortByAssociatedKeys", f"list(T).@sortByAssociatedKeys(list({name})) -> list(T)",
            f"list_{name}_sortByAssociatedKeys", sort_by_keys,
            "['b', 'a'].sortBy(x, x) // ['a', 'b']" if name == "string" else "",
        ).costs_when_known(keys_compare, sorting(name))
        for name in COMPARABLE.values()
    ],
    unary(
        "lists.range", "lists.range(int) -> list(int)", "lists_range", integers_before_37,
    ).costs_when_known(output_size, _range_estimate).until(37),
    unary(
        "lists.range", "lists.range(int) -> list(int)", "lists_range", integers,
        "lists.range(3) // [0, 1, 2]",
    ).costs_when_known(output_size, _range_estimate).since(37),
    unary(
        "reverse", "list(T).reverse() -> list(T)", "list_reverse", backwards,
        "[1, 2].reverse() // [2, 1]",
    ).costs_when_known(output_size, _reverse_estimate),
    unary(
        "distinct", "list(T).distinct() -> list(T)", "list_distinct", distinct,
        "[1, 2, 1].distinct() // [1, 2]",
    ).costs_when_known(self_compare, _distinct_estimate),
), since=34)

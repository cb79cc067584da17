"""Operators and ``size``: arithmetic of numbers, ``+`` of strings, bytes and lists, order, ``in``,
``!``, and the types of operators that the planner has nodes for. Times are in ``time_arithmetic``.

``1 + 2`` is 3, ``"a" + "b"`` is "ab"; int division truncates towards zero: ``7 / -2`` is -3,
``-7 % 2`` is -1. Ints have 64 bits: an overflow is an error. Both operands must have the same type.
``1 < 2.5``, ``"a" < "b"`` (by UTF-8 bytes), ``2 in [1, 2]``, ``"k" in {"k": 1}``,
``size("äö")`` is 2.
"""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport INT64_MIN, int64_t, uint64_t

from policyd._core.eval.functions cimport Function2, Overload, binary, declared, tenths, unary
from policyd._core.regex.search cimport PyUnicode_KIND
from policyd._core.values.activation cimport PLAIN, Activation, form_of, take, work
from policyd._core.values.elements cimport NO_ITEMS
from policyd._core.values.equality cimport compare, contains as container_contains
from policyd._core.values.errors cimport (
    DIVISION_BY_ZERO, INTEGER_OVERFLOW, MODULUS_BY_ZERO, NO_OVERLOAD, UNSIGNED_OVERFLOW, error,
)
from policyd._core.values.overflow cimport (
    add_overflows,
    add_overflows_unsigned,
    multiply_overflows,
    multiply_overflows_unsigned,
    subtract_overflows,
)
from policyd._core.values.types cimport Duration, Timestamp, UInt, duration, size_of, uint

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(object value)
    object PyList_GetSlice(object items, Py_ssize_t start, Py_ssize_t end)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1


cdef inline bint ints(object left, object right, int64_t* a, int64_t* b) except -1:
    """Whether both are ints of 64 bits. A larger JSON integer is not an int."""
    cdef int beyond = 0
    if type(left) is not int or type(right) is not int:
        return False
    a[0] = PyLong_AsLongLongAndOverflow(left, &beyond)
    if beyond:
        return False
    b[0] = PyLong_AsLongLongAndOverflow(right, &beyond)
    return not beyond


cdef object add(Activation act, object left, object right):
    cdef int64_t a = 0, b = 0, made
    cdef uint64_t unsigned
    kind = type(left)
    if kind is not type(right):
        return NO_OVERLOAD
    if kind is int:
        if not ints(left, right, &a, &b):
            return INTEGER_OVERFLOW
        return INTEGER_OVERFLOW if add_overflows(a, b, &made) else made
    if kind is str or kind is bytes or kind is list:
        return concatenate(act, left, right)
    if kind is float:
        return <double>left + <double>right
    if kind is UInt:
        if add_overflows_unsigned((<UInt>left).value, (<UInt>right).value, &unsigned):
            return UNSIGNED_OVERFLOW
        return uint(unsigned)
    return NO_OVERLOAD


cdef object concatenate(Activation act, object left, object right):
    cdef Py_ssize_t size = len(left), width = 1
    # Values are immutable and may be shared. But a sum that starts with a Go list is a plain list,
    # and checking for a Go list costs more than the copy. A list that only the caller holds is not
    # Go's.
    cdef bint plain = type(left) is not list or left is NO_ITEMS or Py_REFCNT(left) == 1
    if size == 0 and (plain or form_of(act, left) == PLAIN):
        return right
    if len(right) == 0:
        if act.typing is None or plain:
            return left
        take(act, size * sizeof(void*))
        return PyList_GetSlice(left, 0, size)
    size += len(right)
    kind = type(left)
    if kind is str:
        width = max(PyUnicode_KIND(left), PyUnicode_KIND(right))
    elif kind is list:
        width = sizeof(void*)
    take(act, size * width)  # with dyn operands the cost is 1 unit for any size
    work(act, size // 64)
    return left + right


cdef object subtract(Activation act, object left, object right):
    cdef int64_t a = 0, b = 0, made
    kind = type(left)
    if kind is not type(right):
        return NO_OVERLOAD
    if kind is int:
        if not ints(left, right, &a, &b):
            return INTEGER_OVERFLOW
        return INTEGER_OVERFLOW if subtract_overflows(a, b, &made) else made
    if kind is float:
        return <double>left - <double>right
    if kind is UInt:
        if (<UInt>left).value < (<UInt>right).value:
            return UNSIGNED_OVERFLOW
        return uint((<UInt>left).value - (<UInt>right).value)
    return NO_OVERLOAD


cdef object multiply(Activation act, object left, object right):
    cdef int64_t a = 0, b = 0, made
    cdef uint64_t unsigned
    kind = type(left)
    if kind is not type(right):
        return NO_OVERLOAD
    if kind is int:
        if not ints(left, right, &a, &b):
            return INTEGER_OVERFLOW
        return INTEGER_OVERFLOW if multiply_overflows(a, b, &made) else made
    if kind is float:
        return <double>left * <double>right
    if kind is UInt:
        if multiply_overflows_unsigned((<UInt>left).value, (<UInt>right).value, &unsigned):
            return UNSIGNED_OVERFLOW
        return uint(unsigned)
    return NO_OVERLOAD


cdef object divide(Activation act, object left, object right):
    cdef int64_t a = 0, b = 0
    kind = type(left)
    if kind is not type(right):
        return NO_OVERLOAD
    if kind is int:
        if not ints(left, right, &a, &b):
            return INTEGER_OVERFLOW
        if b == 0:
            return DIVISION_BY_ZERO
        if a == INT64_MIN and b == -1:
            return INTEGER_OVERFLOW
        return c_quotient(a, b)
    if kind is float:
        return divide_doubles(left, right)
    if kind is UInt:
        if (<UInt>right).value == 0:
            return DIVISION_BY_ZERO
        return uint((<UInt>left).value // (<UInt>right).value)
    return NO_OVERLOAD


cdef object divide_doubles(double left, double right):
    """IEEE 754 division; Python would raise for zero."""
    if right != 0:
        return left / right
    if left == 0 or left != left:
        return NAN
    return INFINITY if (left > 0) == (str(right)[0] != "-") else -INFINITY


cdef inline object c_quotient(int64_t a, int64_t b):
    """The quotient truncated towards zero; b is not 0 and the quotient is in range."""
    quotient = abs(<object>a) // abs(<object>b)
    return -quotient if (a < 0) != (b < 0) else quotient


cdef object modulo(Activation act, object left, object right):
    cdef int64_t a = 0, b = 0
    kind = type(left)
    if kind is not type(right):
        return NO_OVERLOAD
    if kind is int:
        if not ints(left, right, &a, &b):
            return INTEGER_OVERFLOW
        if b == 0:
            return MODULUS_BY_ZERO
        if a == INT64_MIN and b == -1:
            return INTEGER_OVERFLOW
        return a - c_quotient(a, b) * b
    if kind is UInt:
        if (<UInt>right).value == 0:
            return MODULUS_BY_ZERO
        return uint((<UInt>left).value % (<UInt>right).value)
    return NO_OVERLOAD


cdef object negate(Activation act, object value):
    cdef int64_t a = 0, b = 0, made = 0
    if type(value) is int:
        if not ints(value, 0, &a, &b) or subtract_overflows(0, a, &made):
            return INTEGER_OVERFLOW
        return made
    if type(value) is float:
        return -<double>value
    if type(value) is Duration:  # not declared, but a dyn may be a duration
        if subtract_overflows(0, (<Duration>value).nanos, &made):
            return INTEGER_OVERFLOW
        return duration(made)
    return NO_OVERLOAD


cdef int64_t concatenation_cost(Activation act, object left, object right, object result) except -1:
    return tenths(size_of(left) + size_of(right))


cdef object unordered(Activation act, int order, object left, object right):
    """The result for values without an order. Since 1.38 nothing is less or greater than NaN."""
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
    for kind in ("bool", "timestamp", "duration"):
        rows.append(relation(name, word, function, kind, kind, kind))
    return tuple(rows)


#: LIBRARY: Library
LIBRARY = Library("operators", (
    # The planner has nodes for these, so they have no function.
    declared("_?_:_", "_?_:_(bool, A, A) -> A", "conditional"),
    declared("_&&_", "_&&_(bool, bool) -> bool", "logical_and"),
    declared("_||_", "_||_(bool, bool) -> bool", "logical_or"),
    declared("_==_", "_==_(A, A) -> bool", "equals").estimated(estimates.equality),
    declared("_!=_", "_!=_(A, A) -> bool", "not_equals").estimated(estimates.comparison),
    declared("_[_]", "_[_](list(A), int) -> A", "index_list"),
    declared("_[_]", "_[_](map(A, B), A) -> B", "index_map"),
    declared("_[_]", "_[_](optional_type(list(V)), int) -> optional_type(V)",
             "optional_list_index_int"),
    declared("_[_]", "_[_](optional_type(map(K, V)), K) -> optional_type(V)",
             "optional_map_index_value"),
    declared("_?._", "_?._(dyn, string) -> optional_type(V)", "select_optional_field"),
    declared("_[?_]", "_[?_](list(V), int) -> optional_type(V)", "list_optindex_optional_int"),
    declared("_[?_]", "_[?_](optional_type(list(V)), int) -> optional_type(V)",
             "optional_list_optindex_optional_int"),
    declared("_[?_]", "_[?_](map(K, V), K) -> optional_type(V)", "map_optindex_optional_value"),
    declared("_[?_]", "_[?_](optional_type(map(K, V)), K) -> optional_type(V)",
             "optional_map_optindex_optional_value"),
    declared("@not_strictly_false", "@not_strictly_false(bool) -> bool", "not_strictly_false"),
    declared("cel.@mapInsert", "cel.@mapInsert(map(K, V), K, V) -> map(K, V)",
             "@mapInsert_map_key_value").since(32),
    declared("cel.@mapInsert", "cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)",
             "@mapInsert_map_map").since(32),
    binary("_+_", "_+_(int, int) -> int", "add_int64", add, "1 + 2 // 3"),
    binary("_+_", "_+_(string, string) -> string", "add_string", add, "'a' + 'b' // 'ab'")
    .costs_when_known(concatenation_cost, estimates.concatenation),
    binary("_+_", "_+_(list(A), list(A)) -> list(A)", "add_list", add, "[1] + [2] // [1, 2]"),
    binary("_+_", "_+_(double, double) -> double", "add_double", add, "1.5 + 2.0 // 3.5"),
    binary("_+_", "_+_(uint, uint) -> uint", "add_uint64", add, "1u + 2u // 3u"),
    binary("_+_", "_+_(bytes, bytes) -> bytes", "add_bytes", add, "b'a' + b'b' // b'ab'")
    .costs_when_known(concatenation_cost, estimates.concatenation),
    binary("_-_", "_-_(int, int) -> int", "subtract_int64", subtract, "1 - 2 // -1"),
    binary("_-_", "_-_(double, double) -> double", "subtract_double", subtract, "1.5 - 1.0 // 0.5"),
    binary("_-_", "_-_(uint, uint) -> uint", "subtract_uint64", subtract, "2u - 1u // 1u"),
    binary("_*_", "_*_(int, int) -> int", "multiply_int64", multiply, "2 * 3 // 6"),
    binary("_*_", "_*_(double, double) -> double", "multiply_double", multiply, "2.0 * 0.5 // 1.0"),
    binary("_*_", "_*_(uint, uint) -> uint", "multiply_uint64", multiply, "2u * 3u // 6u"),
    binary("_/_", "_/_(int, int) -> int", "divide_int64", divide, "-7 / 2 // -3"),
    binary("_/_", "_/_(double, double) -> double", "divide_double", divide, "1.0 / 4.0 // 0.25"),
    binary("_/_", "_/_(uint, uint) -> uint", "divide_uint64", divide, "7u / 2u // 3u"),
    binary("_%_", "_%_(int, int) -> int", "modulo_int64", modulo, "-7 % 2 // -1"),
    binary("_%_", "_%_(uint, uint) -> uint", "modulo_uint64", modulo, "7u % 2u // 1u"),
    unary("-_", "-_(int) -> int", "negate_int64", negate, "-(1) // -1"),
    unary("-_", "-_(double) -> double", "negate_double", negate, "-(1.5) // -1.5"),
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
), kinds=None)

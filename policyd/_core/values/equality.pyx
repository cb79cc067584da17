"""Equality and order of CEL values, and lookups in maps."""

from libc.stdint cimport int64_t

from policyd._core.system.c_stack cimport descend
from policyd._core.values.activation cimport PLAIN, STRUCT, Form, form_of, work
from policyd._core.values.errors cimport NO_SUCH_OVERLOAD, CelError, error
from policyd._core.values.types cimport (
    MISSING,
    Duration,
    KeyedMap,
    MapKey,
    Opaque,
    Optional,
    StructValue,
    Timestamp,
    UInt,
    go_name,
    uint,
)

cdef enum:
    LONG = 256         # characters: comparisons of shorter strings are not counted
    BYTES_A_UNIT = 32  # compared in one unit of work (10 ns)

cdef object UINT64_END = 1 << 64


cdef object equal(Activation act, object left, object right):
    """True or False; a CelError if the type of ``left`` does not support it (Kubernetes' types, and
    lists and maps of Go). bool and int are never equal.
    """
    kind = type(left)
    if kind is type(right):
        if kind is str:
            if len(<str>left) == len(<str>right) and len(<str>left) > LONG:
                work(act, len(<str>left) // BYTES_A_UNIT)
            return <str>left == <str>right
        if kind is bool or left is None:
            return left is right
        if kind is list:
            return _lists_equal(act, left, right)
        if kind is dict:
            return _maps_equal(act, left, right)
        if kind is bytes and len(<bytes>left) > LONG:
            work(act, len(<bytes>left) // BYTES_A_UNIT)
        if kind is int or kind is float or kind is bytes:
            return left == right
        return _same_class_equal(act, left, right)
    if _is_number(left) and _is_number(right):
        return _order_numbers(left, right) == 0
    if isinstance(left, Opaque) and right is not None:
        return (<Opaque>left).equals(right)
    if (kind is list or kind is dict) and right is not None:
        return unlike(act, left, right)
    return False


cdef object unlike(Activation act, object container, object other):
    """``container == other`` for a list or map and a value of another type, except null."""
    if form_of(act, container) == PLAIN:
        return False
    return other if type(other) is CelError else NO_SUCH_OVERLOAD


cdef inline bint _is_number(object value):
    kind = type(value)
    return kind is int or kind is float or kind is UInt


cdef inline object _number(object value):
    """The value as a Python number."""
    return (<UInt>value).value if type(value) is UInt else value


cdef object _lists_equal(Activation act, list left, list right):
    cdef Py_ssize_t i, size = len(left)
    if size != len(right):
        return False
    descend()
    for i in range(size):
        work(act, 1)
        same = equal(act, left[i], right[i])
        if same is True:
            continue
        # An error counts as equal, as in cel-go; but not in Go's lists.
        if same is False or form_of(act, left) != PLAIN:
            return False
    return True


cdef object _maps_equal(Activation act, dict left, dict right):
    cdef Form form
    if len(left) != len(right):
        return False
    descend()
    form = form_of(act, left)
    if form == STRUCT and form_of(act, right) == STRUCT:
        return act.typing.same(act, left, right)
    for key, value in left.items():
        work(act, 2)
        other = find(right, (<MapKey>key).value if type(key) is MapKey else key)
        if other is MISSING:
            return False
        same = equal(act, value, other)
        if same is True:
            continue
        # An error counts as equal, as in cel-go; but not in Go's maps, and structs return it.
        if same is False or form != PLAIN:
            return same if form == STRUCT else False
    return True


cdef object _same_class_equal(Activation act, object left, object right):
    if isinstance(left, Opaque):
        return (<Opaque>left).equals(right)
    if type(left) is Optional:
        if (<Optional>left).held is MISSING or (<Optional>right).held is MISSING:
            return (<Optional>left).held is (<Optional>right).held
        if type((<Optional>left).held) is CelError:
            return (<Optional>left).held
        descend()
        return equal(act, (<Optional>left).held, (<Optional>right).held)
    if type(left) is StructValue:
        if (<StructValue>left).type_name != (<StructValue>right).type_name:
            return False
        return _maps_equal(act, (<StructValue>left).fields, (<StructValue>right).fields)
    return left == right


cdef int compare(Activation act, object left, object right) except -2:
    """-1, 0 or 1 if left is less than, equal to or greater than right; 2: types without order; 3:
    NaN.
    """
    kind = type(left)
    if kind is type(right):
        if (kind is str or kind is bytes) and len(left) > LONG and len(right) > LONG:
            work(act, min(len(left), len(right)) // BYTES_A_UNIT)
        if kind is int or kind is str or kind is bytes or kind is bool:
            return -1 if left < right else (1 if left > right else 0)
        if kind is Timestamp:
            return _order_timestamps(left, right)
        if kind is Duration:
            return _order((<Duration>left).nanos, (<Duration>right).nanos)
    if not _is_number(left) or not _is_number(right):
        # comparison with NaN is always an error
        return 3 if kind is float and left != left else 2
    return _order_numbers(left, right)


cdef int _order_numbers(object left, object right) except -2:
    """int and uint are compared exactly, anything with a double as doubles, as in cel-go."""
    if type(left) is float or type(right) is float:
        return _order_doubles(_number(left), _number(right))
    left = _number(left)
    right = _number(right)
    return -1 if left < right else (1 if left > right else 0)


cdef int _order_doubles(double left, double right) noexcept:
    if left != left or right != right:
        return 3
    return -1 if left < right else (1 if left > right else 0)


cdef inline int _order(int64_t left, int64_t right) noexcept:
    return -1 if left < right else (1 if left > right else 0)


cdef int _order_timestamps(Timestamp left, Timestamp right) noexcept:
    cdef int seconds = _order(left.seconds, right.seconds)
    return seconds if seconds else _order(left.nanos, right.nanos)


cdef object find(dict entries, object key):
    """The value under a key, or MISSING. Numeric keys match across int, uint and double."""
    if type(key) is str:
        return entries.get(key, MISSING)
    return _find_other(entries, key)


cdef object _find_other(dict entries, object key):
    """Keys that are not strings: this key, otherwise the same number of another type."""
    if not entries:
        return MISSING
    kind = type(key)
    if kind is bool or kind is float:
        value = entries.get(MapKey(key), MISSING)
        if value is not MISSING or kind is bool:
            return value
        if key != key or key in (float("inf"), float("-inf")) or key != int(key):
            return MISSING
        key = int(key)
    elif kind is UInt:
        value = entries.get(key, MISSING)
        if value is not MISSING:
            return value
        key = (<UInt>key).value
    elif key is None:
        return entries.get(None, MISSING)
    elif kind is not int:
        # A map that came as JSON has only string keys; it hashes no other key.
        if kind is bytes or all_strings(entries):
            return MISSING
        return entries.get(MapKey(key), MISSING)
    value = entries.get(key, MISSING)
    if value is MISSING and 0 <= key < UINT64_END:
        value = entries.get(uint(key), MISSING)
    return value


cdef bint all_strings(dict entries) except -1:
    for key in entries:
        if type(key) is not str:
            return False
    return True


cdef object contains(Activation act, object container, object value):
    """Whether a list or the keys of a map contain a value, or NO_SUCH_OVERLOAD."""
    cdef bint typed
    if type(container) is dict:
        if type(value) is not str and form_of(act, container) != PLAIN:
            return no_key(act, value)
        return find(<dict>container, value) is not MISSING
    if type(container) is KeyedMap:
        return (<KeyedMap>container).under(value) is not MISSING
    if type(container) is not list:
        return NO_SUCH_OVERLOAD
    # The equality of scalars is symmetric.
    typed = bool(container) and type(value) in (list, dict) and form_of(act, container) != PLAIN
    for item in <list>container:
        work(act, 1)
        same = equal(act, item, value) if typed else equal(act, value, item)
        if same is True:  # an error is not equal, as in cel-go
            return True
    return False


cdef CelError no_key(Activation act, object value):
    """The error for a value that cannot be a key of Go's maps and structs: their keys are strings.
    """
    return error(f"unsupported map key type: {go_name_of(act, value)}")


cdef str go_name_of(Activation act, object value):
    """The name of the Go type that Kubernetes uses for a value that an expression sees."""
    cdef Form form = PLAIN
    if type(value) is list or type(value) is dict:
        form = form_of(act, value)
    if form == PLAIN:
        return go_name(value)
    name = "Struct" if form == STRUCT else "Map" if type(value) is dict else "List"
    return f"*common.reflectSchemalessTyped{name}"

"""Optional values (cel-go's library "optional").

``optional.of(1)``, ``optional.none()``, ``optional.ofNonZeroValue("")`` (none for an empty or zero
value), ``o.hasValue()``, ``o.value()``, ``o.or(other)``, ``o.orValue(1)``, ``[1, 2].first()``,
``[1, 2].last()``, ``optional.unwrap(list)``, ``list.unwrapOpt()``.

``optMap`` and ``optFlatMap`` are macros; ``a.?b`` and ``a[?k]`` are syntax. The planner has nodes
for ``or`` and ``orValue`` that evaluate the argument only if it is needed; the functions here take
values. Everything costs 1 unit.
"""

from policyd._core.values.activation cimport PLAIN, Activation, form_of, take, work
from policyd._core.values.errors cimport NO_OVERLOAD, error
from policyd._core.eval.functions cimport binary, nullary, unary
from policyd._core.values.printing cimport printed
from policyd._core.values.types cimport (
    MISSING,
    NONE,
    Duration,
    Optional,
    StructValue,
    Timestamp,
    UInt,
    some,
)

from policyd._core.eval.functions import Library

#: LIBRARY: Library


cdef object of(Activation act, object value):
    return some(value)


cdef object none(Activation act):
    return NONE


cdef object of_non_zero(Activation act, object value):
    return NONE if is_zero(value) and not is_go(act, value) else some(value)


cdef bint is_go(Activation act, object value) except -1:
    """Whether this is a Go list or map, which have no zero value."""
    return (type(value) is list or type(value) is dict) and form_of(act, value) != PLAIN


cdef bint is_zero(object value):
    kind = type(value)
    if value is None or value is False:
        return True
    if kind is int or kind is float:
        return value == 0
    if kind is str or kind is bytes or kind is list or kind is dict:
        return len(value) == 0
    if kind is UInt:
        return (<UInt> value).value == 0
    if kind is Duration:
        return (<Duration> value).nanos == 0
    if kind is Timestamp:
        # Go's zero time: the start of year 1
        return (<Timestamp> value).seconds == -62135596800 and (<Timestamp> value).nanos == 0
    if kind is StructValue:
        return not (<StructValue> value).fields
    return False


cdef object has_value(Activation act, object optional):
    return (<Optional> optional).held is not MISSING


cdef object value_of(Activation act, object optional):
    if (<Optional> optional).held is MISSING:
        return error("optional.none() dereference")
    return (<Optional> optional).held


cdef object or_optional(Activation act, object optional, object other):
    if type(optional) is not Optional:  # a dyn that is not an optional is returned as it is
        return optional
    return other if (<Optional> optional).held is MISSING else optional


cdef object or_value(Activation act, object optional, object other):
    if type(optional) is not Optional:
        return optional
    return other if (<Optional> optional).held is MISSING else (<Optional> optional).held


cdef object first(Activation act, object items):
    return some((<list> items)[0]) if <list> items else NONE


cdef object last(Activation act, object items):
    return some((<list> items)[len(<list> items) - 1]) if <list> items else NONE


cdef object unwrap(Activation act, object items):
    cdef list values = []
    if <list> items and type((<list> items)[0]) is not Optional:
        return NO_OVERLOAD
    take(act, len(<list> items) * sizeof(void*))
    for item in <list> items:
        work(act, 1)
        if type(item) is not Optional:  # the first item selected the overload
            return error(f"value {printed(item)} is not optional")
        if (<Optional> item).held is not MISSING:
            values.append((<Optional> item).held)
    return values


LIBRARY = Library("optionals", (
    unary(
        "optional.of", "optional.of(A) -> optional_type(A)", "optional_of", of,
        "optional.of(1).value() // 1",
    ),
    unary(
        "optional.ofNonZeroValue", "optional.ofNonZeroValue(A) -> optional_type(A)",
        "optional_ofNonZeroValue", of_non_zero, "optional.ofNonZeroValue('').hasValue() // false",
    ),
    nullary(
        "optional.none", "optional.none() -> optional_type(A)", "optional_none", none,
        "optional.none().hasValue() // false",
    ),
    unary(
        "value", "optional_type(A).value() -> A", "optional_value", value_of,
        "optional.of('a').value() // 'a'",
    ),
    unary(
        "hasValue", "optional_type(A).hasValue() -> bool", "optional_hasValue", has_value,
        "optional.of(null).hasValue() // true",
    ),
    binary(
        "or", "optional_type(A).or(optional_type(A)) -> optional_type(A)", "optional_or_optional",
        or_optional, "optional.none().or(optional.of(2)).value() // 2",
    ).unchecked(),
    binary(
        "orValue", "optional_type(A).orValue(A) -> A", "optional_orValue_value", or_value,
        "optional.none().orValue(3) // 3",
    ).unchecked(),
    unary(
        "last", "list(A).last() -> optional_type(A)", "list_last", last,
        "[1, 2, 3].last().value() // 3",
    ).since(33),
    unary(
        "first", "list(A).first() -> optional_type(A)", "list_first", first,
        "[].first().hasValue() // false",
    ).since(33),
    unary(
        "optional.unwrap", "optional.unwrap(list(optional_type(A))) -> list(A)", "optional_unwrap",
        unwrap, "optional.unwrap([optional.of(1), optional.none()]) // [1]",
    ).since(33),
    unary(
        "unwrapOpt", "list(optional_type(A)).unwrapOpt() -> list(A)", "optional_unwrapOpt", unwrap,
        "[optional.of(1), optional.none()].unwrapOpt() // [1]",
    ).since(33),
))

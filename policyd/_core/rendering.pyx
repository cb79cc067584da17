"""Values as text: what ``string()`` gives, and how cel-go prints values inside messages."""

from libc.math cimport isinf, isnan

from policyd._core.times cimport print_duration, print_rfc3339
from policyd._core.values cimport (
    MISSING,
    Duration,
    Key,
    Opaque,
    Optional,
    StructValue,
    Timestamp,
    TypeValue,
    UInt,
    key_value,
    type_name,
)

cdef int DEPTH = 100  # nested deeper is cut: messages are for people


cdef str text_of(object value):
    return _text(value, 0)


cdef str _text(object value, int depth):
    kind = type(value)
    if kind is str:
        return <str>value
    if kind is bool:
        return "true" if value else "false"
    if value is None:
        return "null"
    if kind is int:
        return str(value)
    if kind is float:
        return double_text(value)
    if kind is UInt:
        return str((<UInt>value).value)
    if kind is bytes:
        return (<bytes>value).decode("utf-8", "replace")
    if kind is Duration:
        return print_duration((<Duration>value).nanos)
    if kind is Timestamp:
        return print_rfc3339(
            (<Timestamp>value).seconds, (<Timestamp>value).nanos, (<Timestamp>value).offset)
    if kind is TypeValue:
        return (<TypeValue>value).name
    if depth >= DEPTH:
        return "..."
    return _structure_text(value, depth + 1)


cdef str _structure_text(object value, int depth):
    kind = type(value)
    if kind is list:
        return "[" + ", ".join([_text(item, depth) for item in <list>value]) + "]"
    if kind is dict:
        pairs = [
            f"{_text(key_value(key), depth)}: {_text(item, depth)}"
            for key, item in (<dict>value).items()
        ]
        return "{" + ", ".join(pairs) + "}"
    if kind is Optional:
        if (<Optional>value).held is MISSING:
            return "optional.none()"
        return f"optional({_text((<Optional>value).held, depth)})"
    if kind is StructValue:
        pairs = [
            f"{name}: {_text(item, depth)}" for name, item in (<StructValue>value).fields.items()
        ]
        return (<StructValue>value).type_name + "{" + ", ".join(pairs) + "}"
    if kind is Key:
        return _text((<Key>value).value, depth)
    if isinstance(value, Opaque):
        return str(value)
    return type_name(value)


cdef str double_text(double value):
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return repr(value)[:-2]  # 0 or -0
    # Python's repr has the same shortest digits; only the layout differs.
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    if fraction == "0":
        fraction = ""
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    point = len(whole) - leading + (int(exponent) if exponent else 0)
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if not -4 <= point - 1 < 6:  # Go's rule for 'g' with the shortest digits
        return sign + _scientific(digits, point - 1)
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if len(digits) <= point:
        return sign + digits + "0" * (point - len(digits))
    return f"{sign}{digits[:point]}.{digits[point:]}"


cdef str _scientific(str digits, int exponent):
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{tail}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"

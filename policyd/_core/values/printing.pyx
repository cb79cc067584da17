"""Values as strings: as CEL prints them, for ``string()`` and the messages of cel-go, and as Go's
``%v`` does, for the messages that contain Go values.

With ``%v``, ``null`` prints as 0, bytes as numbers, a duration as ``1h0m0s``. A list of an object
has Go values as elements (``[<nil>, [1 2], map[a:b]]``), a list that an expression creates has CEL
values; all lists are treated like the first kind here.
"""

from policyd._core.go.printing import number, plain, span
from policyd._core.go.strings cimport quote
from policyd._core.values.time_strings cimport Civil, civil, print_duration, print_rfc3339
from policyd._core.values.types cimport (
    MISSING,
    Duration,
    MapKey,
    Opaque,
    Optional,
    StructValue,
    Timestamp,
    TypeValue,
    UInt,
    key_value,
    type_name,
)

cdef enum:
    DEPTH = 100          # deeper levels are cut: messages are for people
    MAX_ITEMS = 10_000  # more items are cut, because a list may contain the same list many times
    CHARACTERS_AN_ITEM = 16


cdef str string_of(object value):
    """The result of string(x) if CEL defines it, otherwise as cel-go prints it. Never fails."""
    cdef Py_ssize_t left = MAX_ITEMS
    return _string(value, 0, &left)


cdef str _string(object value, int depth, Py_ssize_t* left):
    kind = type(value)
    left[0] -= 1
    if left[0] < 0:
        return "..."
    if kind is str:
        left[0] -= len(<str>value) // CHARACTERS_AN_ITEM
        return <str>value
    if kind is bool:
        return "true" if value else "false"
    if value is None:
        return "null"
    if kind is int:
        return str(value)
    if kind is float:
        return number(value)
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
    return _structure_string(value, depth + 1, left)


cdef str _structure_string(object value, int depth, Py_ssize_t* left):
    kind = type(value)
    if kind is list:
        return "[" + ", ".join(_strings(value, depth, left)) + "]"
    if kind is dict:
        pairs = []
        for key, item in (<dict>value).items():
            pairs.append(f"{_string(key_value(key), depth, left)}: {_string(item, depth, left)}")
            if left[0] < 0:
                break
        return "{" + ", ".join(pairs) + "}"
    if kind is Optional:
        if (<Optional>value).held is MISSING:
            return "optional.none()"
        return f"optional({_string((<Optional>value).held, depth, left)})"
    if kind is StructValue:
        pairs = []
        for name, item in (<StructValue>value).fields.items():
            pairs.append(f"{name}: {_string(item, depth, left)}")
        return (<StructValue>value).type_name + "{" + ", ".join(pairs) + "}"
    if kind is MapKey:
        return _string((<MapKey>value).value, depth, left)
    if isinstance(value, Opaque):
        return str(value)
    return type_name(value)


cdef list _strings(list items, int depth, Py_ssize_t* left):
    cdef list made = []
    for item in items:
        made.append(_string(item, depth, left))
        if left[0] < 0:
            break
    return made


cdef str printed(object value):
    """Go's %v. Lists are assumed to be parts of objects: their elements print as Go values. Never
    fails.
    """
    cdef Py_ssize_t left = MAX_ITEMS
    return _printed(value, 0, &left)


cdef str _printed(object value, int depth, Py_ssize_t* left):
    cdef list parts
    kind = type(value)
    left[0] -= 1
    if value is None:
        return "0"
    if kind is bytes:
        left[0] -= len(<bytes>value)
        return "[" + " ".join([str(byte) for byte in (<bytes>value)[:MAX_ITEMS]]) + "]"
    if kind is Duration:
        return span((<Duration>value).nanos)
    if kind is Timestamp:
        return _time(value)
    if depth >= DEPTH or left[0] < 0:
        return "..."
    if kind is Optional and (<Optional>value).held is not MISSING:
        return f"optional({_printed((<Optional>value).held, depth + 1, left)})"
    if kind is list:
        return "[" + ", ".join(_elements(value, depth + 1, left)) + "]"
    if kind is dict:
        parts = []
        for key, item in (<dict>value).items():
            name = _printed(key_value(key), depth + 1, left)
            parts.append(f"{name}: {_printed(item, depth + 1, left)}")
            if left[0] < 0:
                break
        return "{" + ", ".join(parts) + "}"
    if kind is str:
        left[0] -= len(<str>value) // CHARACTERS_AN_ITEM
    return string_of(value)


cdef str _element(object value, int depth, Py_ssize_t* left):
    """An element of a list: a Go value. Maps are sorted by key."""
    kind = type(value)
    left[0] -= 1
    if value is None:
        return "<nil>"
    if depth >= DEPTH or left[0] < 0:
        return "..."
    if kind is list:
        return "[" + " ".join(_elements(value, depth + 1, left)) + "]"
    if kind is dict:
        pairs = sorted(
            [(_printed(key_value(key), depth, left), item) for key, item in (<dict>value).items()],
            key=_name,
        )
        held = []
        for name, item in pairs:
            held.append(f"{name}:{_element(item, depth + 1, left)}")
            if left[0] < 0:
                break
        return "map[" + " ".join(held) + "]"
    return _printed(value, depth, left)


cdef list _elements(list items, int depth, Py_ssize_t* left):
    cdef list made = []
    for item in items:
        made.append(_element(item, depth, left))
        if left[0] < 0:
            break
    return made


def _name(tuple pair):
    return pair[0].encode("utf-8", "replace")


cdef str _time(Timestamp time):
    cdef Civil at
    cdef int minutes = abs(time.offset) // 60
    civil(time.seconds + time.offset, &at)
    fraction = f".{time.nanos:09d}".rstrip("0") if time.nanos else ""
    zone = f"{'-' if time.offset < 0 else '+'}{minutes // 60:02d}{minutes % 60:02d}"
    return (
        f"{at.year:04d}-{at.month:02d}-{at.day:02d} {at.hour:02d}:{at.minute:02d}:{at.second:02d}"
        f"{fraction} {zone} {zone if time.offset else 'UTC'}"
    )


cdef str quoted_key(object key):
    """%q of a CEL value that is not a string."""
    kind = key_type(key)
    value = key.value if type(key) is MapKey or type(key) is UInt else key
    if kind == "types.Int" or kind == "types.Uint":
        character = chr(value) if 0 <= value < 0x110000 else "\ufffd"
        if character == "'":
            return r"'\''"
        inside = quote(character)[1:-1]
        return "'\"'" if character == '"' else f"'{inside}'"
    return f"%!q({kind}={plain(value)})"


cdef str key_type(object key):
    if type(key) is UInt:
        return "types.Uint"
    if type(key) is MapKey:
        return "types.Bool" if type(key.value) is bool else "types.Double"
    return "types.Int"

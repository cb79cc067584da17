"""Sizes in bytes before JSON is encoded or decoded: the size of values as JSON, counted up to a
limit, and the memory that a decoded body takes, estimated by counting its characters.

A value may occur in a tree many times but in memory once. A tree that is small in memory can be
huge as JSON, so each occurrence is counted.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from policyd._core.values.types cimport MISSING, Optional, StructValue

#: MAX_PATCH_BYTES: int
#: TOO_LARGE: str

# Larger than any object in Kubernetes: etcd accepts 1.5 MiB, an API server 3 MiB from a client.
MAX_PATCH_BYTES = 4 * 2**20
TOO_LARGE = f"a patch of more than {MAX_PATCH_BYTES >> 20} MiB"

cdef enum:
    NUMBER_BYTES = 20  # and of anything else that is not counted exactly
    MAX_LEVELS = 1000  # no patch has deeper values; they count as too large

# Bytes that escaping adds to each ASCII character.
cdef char[128] ESCAPE_BYTES
for _code in range(128):
    ESCAPE_BYTES[_code] = 5 if _code < 32 else 1 if _code in (34, 92) else 0

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text) noexcept
    const unsigned char *PyUnicode_1BYTE_DATA(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept

cdef Py_ssize_t OPERATION_BYTES = len('{"op":"replace","path":"","value":},')


cpdef Py_ssize_t operation_bytes(list operations, Py_ssize_t limit) except -1:
    #: (list[dict[str, Any]], int) -> int
    """The size of the operations of a patch. The count stops above the limit."""
    cdef Py_ssize_t count = 0
    cdef dict operation
    for operation in operations:
        count += OPERATION_BYTES + len(operation["path"])
        count += value_bytes(operation.get("value"), limit - count)
        if count > limit:
            break
    return count


cpdef Py_ssize_t value_bytes(object value, Py_ssize_t limit) except -1:
    #: (object, int) -> int
    """The size of a JSON or CEL value. The count stops above ``limit``."""
    return counted(value, limit, MAX_LEVELS)


cdef Py_ssize_t counted(object value, Py_ssize_t limit, int levels) except -1:
    cdef object kind = type(value)
    cdef Py_ssize_t count = 2
    if kind is str:
        return string_bytes(value)
    if kind is dict or kind is StructValue:
        return members_bytes(
            <dict>value if kind is dict else (<StructValue>value).fields, limit, levels - 1
        )
    if kind is list:
        if not levels:
            return limit + 1
        count += len(<list>value)
        for item in <list>value:
            if count > limit:
                break
            count += counted(item, limit - count, levels - 1)
        return count
    if kind is Optional:
        held = (<Optional>value).held
        return 0 if held is MISSING else counted(held, limit, levels - 1) if levels else limit + 1
    if kind is bytes:
        return 4 * len(<bytes>value) // 3 + 4  # base64
    return 5 if value is None or kind is bool else NUMBER_BYTES


cdef Py_ssize_t members_bytes(dict members, Py_ssize_t limit, int levels) except -1:
    cdef Py_ssize_t count = 2
    if levels < 0:
        return limit + 1
    for key, value in members.items():
        count += 2 + (string_bytes(key) if type(key) is str else NUMBER_BYTES)
        if count > limit:
            break
        if type(value) is str:
            count += string_bytes(value)
        else:
            count += counted(value, limit - count, levels)
    return count


cdef Py_ssize_t string_bytes(object text) except -1:
    """The size in UTF-8, with the escapes of JSON."""
    cdef Py_ssize_t i, size = PyUnicode_GET_LENGTH(text), count = size + 2
    cdef const unsigned char *octets
    cdef Py_UCS4 c
    if not PyUnicode_IS_ASCII(text):
        for c in <str>text:
            count += (c > 0x7F) + (c > 0x7FF) + (c > 0xFFFF)
            if c <= 0x7F:
                count += ESCAPE_BYTES[c]
        return count
    octets = PyUnicode_1BYTE_DATA(text)
    for i in range(size):
        count += ESCAPE_BYTES[octets[i]]
    return count


# Bytes of memory per character of this kind (measured with orjson on CPython 3.11: the values, and
# another 16 bytes per value during decoding). Empty objects take less; the additional memory of
# long numbers and strings is bounded by the size of the body.
cdef Py_ssize_t BRACE_BYTES = 150    # an object and its table of keys
cdef Py_ssize_t BRACKET_BYTES = 64   # a list
cdef Py_ssize_t COMMA_BYTES = 40     # a number, and the entry of a value in its list or object
cdef Py_ssize_t QUOTE_BYTES = 28     # half of a string, without its characters
cdef Py_ssize_t CHARACTER_BYTES = 4  # the width of all characters if one is above U+FFFF

cdef struct Counts:
    Py_ssize_t braces
    Py_ssize_t brackets
    Py_ssize_t commas
    Py_ssize_t quotes


def decoded_bytes(bytes body not None, Py_ssize_t limit) -> int:
    #: (bytes, int) -> int
    """The maximum memory in bytes that ``body`` takes while it is decoded.

    Characters inside strings are counted too, unless the result then exceeds ``limit``.
    """
    cdef const unsigned char *text = <const unsigned char *>PyBytes_AS_STRING(body)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(body)
    cdef Counts counts
    cdef Py_ssize_t found
    with nogil:
        counts = counted_everywhere(text, size)
        found = weight(counts, size)
        if found > limit:
            counts = counted_outside_strings(text, size)
            found = weight(counts, size)
    return found


cdef Counts counted_everywhere(const unsigned char *text, Py_ssize_t size) noexcept nogil:
    """Counts in the whole body, strings included."""
    cdef Py_ssize_t i, start = 0, end
    cdef unsigned char c, braces, brackets, commas, quotes
    cdef Counts counts
    counts.braces = counts.brackets = counts.commas = counts.quotes = 0
    while start < size:
        # Counts that fit into a byte let the compiler compare 16 bytes at once.
        braces = brackets = commas = quotes = 0
        end = min(start + 255, size)
        for i in range(start, end):
            c = text[i]
            braces += c == c"{"
            brackets += c == c"["
            commas += c == c","
            quotes += c == c'"'
        counts.braces += braces
        counts.brackets += brackets
        counts.commas += commas
        counts.quotes += quotes
        start = end
    return counts


cdef Counts counted_outside_strings(const unsigned char *text, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i = 0
    cdef unsigned char c
    cdef Counts counts
    counts.braces = counts.brackets = counts.commas = counts.quotes = 0
    while i < size:
        c = text[i]
        i += 1
        if c == c'"':
            counts.quotes += 2
            while i < size and text[i] != c'"':
                i += 2 if text[i] == c"\\" else 1
            i += 1
        elif c == c"{":
            counts.braces += 1
        elif c == c"[":
            counts.brackets += 1
        elif c == c",":
            counts.commas += 1
    return counts


cdef Py_ssize_t weight(Counts counts, Py_ssize_t size) noexcept nogil:
    return (
        BRACE_BYTES * counts.braces
        + BRACKET_BYTES * counts.brackets
        + COMMA_BYTES * counts.commas
        + QUOTE_BYTES * counts.quotes
        + CHARACTER_BYTES * size
    )


cpdef bint is_deeper(object value, int levels) except -1:
    #: (Any, int) -> bool
    """Whether a value has more levels than these: a number or a string is one.

    >>> is_deeper({"a": [1]}, 3), is_deeper({"a": [1]}, 2)
    (False, True)
    """
    if levels <= 0:
        return True
    if isinstance(value, dict):
        for below in (<dict>value).values():
            if is_deeper(below, levels - 1):
                return True
    elif isinstance(value, (list, tuple)):
        for below in value:
            if is_deeper(below, levels - 1):
                return True
    return False

"""The bytes that values take as JSON, counted up to a limit, so that patches are bounded before
they are made.

A value may stand in a tree many times and be in memory once: what is small here can be huge when it
is written, and what counts are the places.
"""

from cpython.unicode cimport PyUnicode_AsUTF8AndSize

from policyd._core.values cimport MISSING, Optional, StructValue

# More than any object that Kubernetes stores: etcd takes 1.5 MiB, an API server reads 3 MiB from a
# client.
MAX_PATCH_BYTES = 4 * 2**20
TOO_LARGE = f"a patch of more than {MAX_PATCH_BYTES >> 20} MiB"

cdef Py_ssize_t NUMBER_BYTES = 20  # and what else is not looked at closely
cdef Py_ssize_t OPERATION_BYTES = len('{"op":"replace","path":"","value":},')


def patch_bytes(list operations not None, Py_ssize_t limit) -> int:
    """What the operations take, counted until it is more than ``limit``."""
    cdef Py_ssize_t count = 0
    cdef dict operation
    for operation in operations:
        count += OPERATION_BYTES + len(operation["path"])
        count += value_bytes(operation.get("value"), limit - count)
        if count > limit:
            break
    return count


cdef Py_ssize_t value_bytes(object value, Py_ssize_t limit) except -1:
    """What a value of JSON or CEL takes, counted until it is more than ``limit``."""
    cdef Py_ssize_t count = 0
    cdef object kind = type(value)
    cdef list waiting
    if kind is str:
        return text_bytes(<str>value)
    if kind is not dict and kind is not list and kind is not StructValue and kind is not Optional:
        return scalar_bytes(value)
    waiting = [value]
    while waiting and count <= limit:
        value = waiting.pop()
        kind = type(value)
        if kind is str:
            count += text_bytes(<str>value)
        elif kind is list:
            count += 2 + len(<list>value)
            if count <= limit:
                waiting.extend(<list>value)
        elif kind is dict:
            count += members_bytes(<dict>value, waiting)
        elif kind is StructValue:
            count += members_bytes((<StructValue>value).fields, waiting)
        elif kind is Optional:
            if (<Optional>value).held is not MISSING:
                waiting.append((<Optional>value).held)
        else:
            count += scalar_bytes(value)
    return count


def json_bytes(value, Py_ssize_t limit) -> int:
    """What a value of JSON or CEL takes, counted until it is more than ``limit``."""
    return value_bytes(value, limit)


cdef Py_ssize_t members_bytes(dict members, list waiting) except -1:
    """The braces, keys and colons; the values are left for later."""
    cdef Py_ssize_t count = 2
    for key, value in members.items():
        count += 2 + (text_bytes(<str>key) if type(key) is str else NUMBER_BYTES)
        waiting.append(value)
    return count


cdef Py_ssize_t scalar_bytes(object value) except -1:
    if type(value) is bytes:
        return 4 * len(<bytes>value) // 3 + 4  # base64
    if value is None or type(value) is bool:
        return 5
    return NUMBER_BYTES


cdef Py_ssize_t text_bytes(str text) except -1:
    """UTF-8, with the escapes that JSON needs."""
    cdef Py_ssize_t size, i, count = 2
    cdef const unsigned char *octets
    cdef Py_UCS4 c
    if not text.isascii():
        for c in text:
            count += 1 + (c > 0x7F) + (c > 0x7FF) + (c > 0xFFFF) + escape_bytes(c)
        return count
    octets = <const unsigned char *>PyUnicode_AsUTF8AndSize(text, &size)
    for i in range(size):
        count += escape_bytes(octets[i])
    return count + size


cdef inline Py_ssize_t escape_bytes(Py_UCS4 c) noexcept nogil:
    """What an escape takes beyond the character itself."""
    return 5 * (c < 0x20) + (c == 34) + (c == 92)

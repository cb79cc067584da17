"""Operations on one object or list, for one segment of a JSON Patch path, with the messages of
evanphx/json-patch.

The functions change their container in place. They follow no paths and copy nothing.
"""

from policyd._core.go.strings cimport quote as quoted
from policyd._core.system.c_stack cimport descend

cdef str INVALID_INDEX = "invalid index referenced"
cdef str KNOWN_ESCAPES = '"\\bfnrtu'

# Most paths are literals in policies; computed paths must not fill the memory.
cdef dict known_paths = {}
cdef Py_ssize_t MOST_PATHS = 4096
cdef Py_ssize_t LONGEST_PATH = 256  # characters: paths in policies are shorter
cdef Py_ssize_t LONGEST_INDEX = 19  # digits of an int64


class KeyProblem(Exception):
    """The problem of a key in a container. The operation completes the message."""


class NoNumber(KeyProblem):
    """An index that is not an integer, with the message of Go's ``strconv.Atoi``."""


cdef tuple segments(str path):
    found = known_paths.get(path)
    if found is None:
        found = tuple([decoded(part) for part in path.split("/")[1:]])
        if len(path) > LONGEST_PATH:
            return found
        if len(known_paths) >= MOST_PATHS:
            known_paths.clear()
        known_paths[path] = found
    return found


cdef str decoded(str part):
    return part.replace("~1", "/").replace("~0", "~") if "~" in part else part


cdef str unknown_escape(str text):
    if text.isprintable() and "\\" not in text:
        return ""
    cdef list parts = quoted(text).replace("\\\\", "").split("\\")
    for part in parts[1:]:
        if part and part[0] not in KNOWN_ESCAPES:
            return part[0]
    return ""


cdef object member(object container, str key):
    """The value of the key; None if an object does not have the key."""
    if type(container) is dict:
        return (<dict>container).get(key)
    return container[place(key, container)]


cdef int insert(object container, str key, object value) except -1:
    if type(container) is dict:
        (<dict>container)[key] = value
    elif key == "-":
        container.append(value)
    else:
        try:
            index = index_of(key, container, 1)
        except NoNumber as error:
            raise KeyProblem(f"value was not a proper array index: '{key}': {error}") from None
        if index > len(container):
            raise KeyProblem(f"Unable to access invalid index: {index}: {INVALID_INDEX}")
        container.insert(index, value)
    return 0


cdef int assign(object container, str key, object value) except -1:
    if type(container) is dict:
        (<dict>container)[key] = value
    else:
        container[place(key, container)] = value
    return 0


cdef int delete(object container, str key) except -1:
    if type(container) is dict:
        if key not in <dict>container:
            raise KeyProblem(f"Unable to remove nonexistent key: {key}: missing value")
        del (<dict>container)[key]
    else:
        del container[place(key, container)]
    return 0


cdef object place(str key, list container):
    """The index of an existing item."""
    index = index_of(key, container, 0)
    if index >= len(container):
        raise KeyProblem(f"Unable to access invalid index: {index}: {INVALID_INDEX}")
    return index


cdef object index_of(str key, list container, Py_ssize_t room):
    """The index; negative indexes count from the end (``room``: places allowed after the end)."""
    cdef str digits = key[1:] if key[:1] in ("+", "-") else key
    if not digits.isascii() or not digits.isdigit():
        raise NoNumber(f"strconv.Atoi: parsing {quoted(key)}: invalid syntax")
    digits = digits.lstrip("0") or "0"
    # int() takes quadratic time, and Python rejects more than 4,300 digits.
    index = 2**63 if len(digits) > LONGEST_INDEX else int(digits)
    if key[0] == "-":
        index = -index if len(digits) <= LONGEST_INDEX else -index - 1
    if not -(2**63) <= index < 2**63:
        raise NoNumber(f"strconv.Atoi: parsing {quoted(key)}: value out of range")
    length = len(container) + room
    if index < -length:
        raise KeyProblem(f"Unable to access invalid index: {index}: {INVALID_INDEX}")
    return index + length if index < 0 else index


cdef bint equal(object one, object other) except -1:
    """Equality of printed JSON: 30 and 30.0 are equal (Go prints both alike), true and 1 are not.

    null is equal to an empty object, as in the library.
    """
    cdef object kind = type(one)
    cdef object other_kind = type(other)
    cdef Py_ssize_t index
    if kind is dict or other_kind is dict:
        if (kind is not dict and one is not None) or (other_kind is not dict and other is not None):
            return False
        descend()
        return equal_members(one or {}, other or {})
    if kind is list and other_kind is list:
        if len(one) != len(other):
            return False
        descend()
        for index in range(len(<list>one)):
            if not equal(one[index], other[index]):
                return False
        return True
    if kind is bool or other_kind is bool:
        return one is other
    return one == other


cdef bint equal_members(dict one, dict other) except -1:
    if len(one) != len(other):
        return False
    for key, value in one.items():
        if key not in other:
            return False
        beside = other[key]
        if (value is None) != (beside is None) or not equal(value, beside):
            return False
    return True

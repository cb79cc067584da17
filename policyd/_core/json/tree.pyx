"""Checks of an AdmissionReview that a JSON decoder does not do: nesting depth and integer range.

They apply to bytes and trees of JSON values; ``policyd/admission/review.py`` checks the fields of a
review.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.math cimport isfinite
from libc.string cimport memchr

from policyd._core.json.sendable cimport has_surrogate
from policyd._core.system.c_stack cimport descend

from policyd.errors import ReviewError, UnreadableReview

#: TOO_DEEP: str
#: TOO_LARGE_NUMBER: str

# Reasons why a review cannot be evaluated.
TOO_DEEP = "it is nested deeper than 1000 levels"
TOO_LARGE_NUMBER = "it holds a number that is too large for a double"

cdef object INT64_MAX = 9223372036854775807
cdef object INT64_MIN = -9223372036854775808


def is_ordinary(bytes body not None, Py_ssize_t depth) -> bool:
    #: (bytes, int) -> bool
    """Whether ``body``, which is JSON, certainly has at most ``depth`` levels and no integer
    outside int64.

    A quick check that may wrongly return False, because it also finds digits in strings; the
    decoded body must then go through ``normal``. It counts opening brackets, and levels only if
    there are many brackets; it reads every 19th byte to find 19 digits in a row.
    """
    cdef const unsigned char *text = <const unsigned char *>PyBytes_AS_STRING(body)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(body)
    if opening_brackets(text, size) > depth and levels(text, size) > depth:
        return False
    return not has_long_number(text, size)


cdef Py_ssize_t opening_brackets(const unsigned char *text, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i, count = 0, start = 0, end
    cdef unsigned char few
    while start < size:
        # A count that fits into a byte lets the compiler compare 16 bytes at once.
        few, end = 0, min(start + 255, size)
        for i in range(start, end):
            # '[' is 0x5B and '{' is 0x7B: they differ in one bit.
            few += (text[i] | 0x20) == 0x7B
        count += few
        start = end
    return count


cdef Py_ssize_t levels(const unsigned char *text, Py_ssize_t size) noexcept nogil:
    """The levels of objects and arrays in JSON."""
    cdef const unsigned char *at = text
    cdef const unsigned char *end = text + size
    cdef Py_ssize_t level = 0, most = 0
    cdef unsigned char c
    while at < end:
        c = at[0]
        at += 1
        if c == c'"':
            at = string_end(at, end)
        elif (c | 0x20) == 0x7B:
            level += 1
            most = max(most, level)
        elif (c | 0x20) == 0x7D:
            level -= 1
    return most


cdef const unsigned char *string_end(
    const unsigned char *at, const unsigned char *end
) noexcept nogil:
    """The end of the string that begins before ``at``, after its quote."""
    cdef const unsigned char *quote
    cdef const unsigned char *before
    while at < end:
        quote = <const unsigned char *>memchr(at, c'"', end - at)
        if quote is NULL:
            return end
        before = quote
        while before > at and before[-1] == c'\\':
            before -= 1
        at = quote + 1
        if (quote - before) % 2 == 0:
            return at
    return end


cdef bint is_digit(unsigned char character) noexcept nogil:
    return 48 <= character <= 57


cdef bint has_long_number(const unsigned char *text, Py_ssize_t size) noexcept nogil:
    """Whether there are 19 digits in a row: the first integer beyond int64 has 19."""
    cdef Py_ssize_t probe = 18, first, last
    while probe < size:
        if is_digit(text[probe]):
            first = last = probe
            while first > 0 and is_digit(text[first - 1]):
                first -= 1
            while last + 1 < size and is_digit(text[last + 1]):
                last += 1
            if last - first >= 18:
                return True
        probe += 19
    return False


cpdef object normal(object value, Py_ssize_t depth):
    #: (Any, int) -> Any
    """``value`` with each integer outside int64 as a double; ``value`` itself if there is none.

    The input is never changed. Raises UnreadableReview for more levels than ``depth`` and for
    values that do not fit a double or UTF-8, ReviewError for values that are not JSON (a caller of
    the Python API may pass anything).
    """
    cdef object kind = type(value)
    if kind is str:
        check_string(<str>value)
        return value
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if INT64_MIN <= value <= INT64_MAX else as_double(value)
    if kind is float:
        if not isfinite(<double>value):
            raise ReviewError(f"the review holds {value!r}, which is not a JSON number")
        return value
    if depth <= 0:
        raise UnreadableReview(TOO_DEEP)
    if kind is dict:
        return _normal_dict(<dict>value, depth - 1)
    if kind is list:
        return _normal_list(<list>value, depth - 1)
    raise ReviewError(f"the review holds a Python {kind.__name__}, which is not a JSON value")


cpdef bint contains(object value, object wanted) except -1:
    #: (object, object) -> bool
    """Whether a map or list of the tree is ``wanted`` itself."""
    cdef object kind = type(value)
    if value is wanted:
        return True
    if kind is dict:
        descend()
        for member in (<dict>value).values():
            if contains(member, wanted):
                return True
    elif kind is list:
        descend()
        for member in <list>value:
            if contains(member, wanted):
                return True
    return False


cdef double as_double(object value) except? -1.0:
    try:
        return float(value)
    except OverflowError:
        raise UnreadableReview(TOO_LARGE_NUMBER) from None


cdef int check_string(str text) except -1:
    if has_surrogate(text):
        raise UnreadableReview("a string holds half of a surrogate pair")
    return 0


cdef dict _normal_dict(dict value, Py_ssize_t depth):
    cdef dict changed = None
    cdef object key, item, other
    for key, item in value.items():
        if type(key) is not str:
            raise ReviewError(f"the review has the key {key!r}; keys of JSON objects are strings")
        check_string(<str>key)
        other = normal(item, depth)
        if other is not item:
            if changed is None:
                changed = value.copy()
            changed[key] = other
    return value if changed is None else changed


cdef list _normal_list(list value, Py_ssize_t depth):
    cdef list changed = None
    cdef Py_ssize_t i
    cdef object other
    for i in range(len(value)):
        other = normal(value[i], depth)
        if other is not value[i]:
            if changed is None:
                changed = value.copy()
            changed[i] = other
    return value if changed is None else changed

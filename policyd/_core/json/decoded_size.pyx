"""Estimates the memory that a JSON body takes when it is decoded, by counting its characters."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

# Bytes of memory per character of this kind (measured with orjson on CPython 3.11: the values, and
# 16 bytes per value while it decodes). Empty objects take less; the additional memory of long
# numbers and strings is bounded by the size of the body.
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
        counts = counted(text, size)
        found = weight(counts, size)
        if found > limit:
            counts = counted_outside_strings(text, size)
            found = weight(counts, size)
    return found


cdef Counts counted(const unsigned char *text, Py_ssize_t size) noexcept nogil:
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

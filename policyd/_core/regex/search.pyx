"""Searches a string for a substring, always in linear time, and reads the clock meanwhile.

Python's own search takes quadratic time for some strings (always from the end), and cannot be
interrupted. It serves short strings; for others, the algorithm of Knuth, Morris and Pratt reads
each character once.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t

from policyd._core.values.activation cimport work

cdef extern from "Python.h":
    void* PyUnicode_DATA(object text) noexcept
    Py_UCS4 PyUnicode_READ(Py_ssize_t kind, void* data, Py_ssize_t at) noexcept nogil
    Py_ssize_t PyUnicode_Find(
        object text, object part, Py_ssize_t start, Py_ssize_t end, int direction) except -2

cdef enum:
    SHORT_PART = 6       # Python's search compares the part at each position: a small factor
    FEW_STEPS = 1 << 20  # maximum comparisons of Python's search: half a millisecond
    BLOCK = 1 << 16      # characters between two reads of the clock
    CHARACTERS_A_UNIT = 8
    PIECE = 64           # bytes of a string object beside its characters


cdef Py_ssize_t find(
    Activation act, str text, str part, Py_ssize_t start, Py_ssize_t end
) except -2:
    """The index of the first (last) occurrence between two indexes, or -1."""
    return search(act, text, part, start, end, False)


cdef Py_ssize_t find_last(
    Activation act, str text, str part, Py_ssize_t start, Py_ssize_t end
) except -2:
    return search(act, text, part, start, end, True)


cdef Py_ssize_t search(
    Activation act, str text, str part, Py_ssize_t start, Py_ssize_t end, bint backwards
) except -2:
    end = min(end, len(text))
    if len(part) > end - start:
        return -1
    if is_short(part, end - start):
        work(act, (end - start) // CHARACTERS_A_UNIT)
        return PyUnicode_Find(text, part, start, end, -1 if backwards else 1)
    return Needle(act, part, backwards).next(act, text, start, end)


cdef inline bint is_short(str part, Py_ssize_t length) except -1:
    return len(part) < SHORT_PART or length <= FEW_STEPS // len(part)


@cython.final
cdef class Needle:
    """The string to search for. ``fallback`` has, for each matched length, the length that still
    matches after a mismatch.
    """

    cdef Py_ssize_t kind, length
    cdef void* data
    cdef int32_t* fallback
    cdef str part        # owner of ``data``
    cdef bytes memory    # owner of ``fallback``
    cdef bint backwards  # search from the end to the start

    def __cinit__(self, Activation act, str part, bint backwards):
        self.part = part
        self.kind = PyUnicode_KIND(part)
        self.data = PyUnicode_DATA(part)
        self.length = len(part)
        self.backwards = backwards
        self.memory = PyBytes_FromStringAndSize(NULL, self.length * sizeof(int32_t))
        self.fallback = <int32_t*>PyBytes_AS_STRING(self.memory)
        work(act, self.length // CHARACTERS_A_UNIT)
        self.prepare()

    cdef inline Py_UCS4 at(self, Py_ssize_t index) noexcept nogil:
        return PyUnicode_READ(
            self.kind, self.data, self.length - 1 - index if self.backwards else index)

    cdef void prepare(self) noexcept nogil:
        cdef Py_ssize_t i
        cdef int32_t matched = 0
        cdef Py_UCS4 char
        self.fallback[0] = 0
        for i in range(1, self.length):
            char = self.at(i)
            while matched and char != self.at(matched):
                matched = self.fallback[matched - 1]
            if char == self.at(matched):
                matched += 1
            self.fallback[i] = matched

    cdef Py_ssize_t next(
        self, Activation act, str text, Py_ssize_t start, Py_ssize_t end
    ) except -2:
        """The next occurrence, or the previous one in a backward search; -1: none."""
        cdef void* data = PyUnicode_DATA(text)
        cdef Py_ssize_t kind = PyUnicode_KIND(text), at = 0, stop, size = end - start
        cdef int32_t matched = 0
        cdef Py_UCS4 char
        while at < size:
            stop = min(size, at + BLOCK)
            work(act, (stop - at) // CHARACTERS_A_UNIT)
            while at < stop:
                char = PyUnicode_READ(kind, data, end - 1 - at if self.backwards else start + at)
                at += 1
                while matched and char != self.at(matched):
                    matched = self.fallback[matched - 1]
                if char == self.at(matched):
                    matched += 1
                    if matched == self.length:
                        return end - at if self.backwards else start + at - self.length
        return -1


cdef list places(Activation act, str text, str part, Py_ssize_t limit):
    """The positions of the part from left to right, without overlaps."""
    cdef Needle needle = Needle(act, part, False)
    cdef list found = []
    cdef Py_ssize_t at = 0
    while limit < 0 or len(found) < limit:
        at = needle.next(act, text, at, len(text))
        if at < 0:
            break
        found.append(at)
        take(act, PIECE)
        at += len(part)
    return found


cdef list pieces(str text, list found, Py_ssize_t length):
    """The parts of the string between occurrences of this length."""
    cdef list made = []
    cdef Py_ssize_t start = 0, at
    for at in found:
        made.append(text[start:at])
        start = at + length
    made.append(text[start:])
    return made


cdef str replace(Activation act, str text, str old, str new, Py_ssize_t limit):
    """Like str.replace and str.split with a separator of at least one character; at most `limit`
    times, -1: no limit. The memory of the results is counted.
    """
    cdef Py_ssize_t count, size, width = max(PyUnicode_KIND(text), PyUnicode_KIND(new))
    cdef list found
    work(act, len(text) // CHARACTERS_A_UNIT)
    if is_short(old, len(text)):
        count = text.count(old)
        if 0 <= limit < count:
            count = limit
        size = len(text) + count * (len(new) - len(old))
        take(act, size * width)
        work(act, size // CHARACTERS_A_UNIT)
        return text.replace(old, new, count)
    found = places(act, text, old, limit)
    size = len(text) + len(found) * (len(new) - len(old))
    take(act, (len(text) + size) * width)
    work(act, size // CHARACTERS_A_UNIT)
    return new.join(pieces(text, found, len(old)))


cdef list split(Activation act, str text, str separator, Py_ssize_t limit):
    cdef Py_ssize_t count
    cdef list found
    work(act, len(text) // CHARACTERS_A_UNIT)
    if is_short(separator, len(text)):
        count = text.count(separator)
        if 0 <= limit < count:
            count = limit
        take_like(act, len(text), text)
        take(act, count * PIECE)
        return text.split(separator, count)
    found = places(act, text, separator, limit)
    take_like(act, len(text), text)
    return pieces(text, found, len(separator))
